import { StatusError } from '@gantry/api';
import type { ResourceVersion } from '../storage/object-store.ts';

/** Where a paged list goes on. Any apiserver can read it. */
export interface ContinueToken {
  /** Version of the list, or undefined to go on with whatever is newest (an inconsistent list). */
  readonly resourceVersion: ResourceVersion | undefined;
  /** First key, relative to the prefix of the list. */
  readonly start: string;
}

const FORMAT = 'meta.k8s.io/v1';

/** The opaque text that clients give back. */
export function formatContinueToken(token: ContinueToken): string {
  const json = { v: FORMAT, rv: token.resourceVersion ?? -1, start: token.start };
  return Buffer.from(JSON.stringify(json)).toString('base64url');
}

/** Inverse of `formatContinueToken`; throws BadRequest for anything else. */
export function parseContinueToken(text: string): ContinueToken {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null) throw invalid('not an object');
  const { v, rv, start } = value as { v?: unknown; rv?: unknown; start?: unknown };
  if (v !== FORMAT) throw invalid('server version not recognized');
  if (typeof start !== 'string' || start === '') throw invalid('encoded continue token has no start key');
  if (start.startsWith('/') || start.split('/').includes('..')) throw invalid('start key is not valid');
  if (typeof rv !== 'number' || !Number.isSafeInteger(rv)) throw invalid('resource version is not valid');
  return { resourceVersion: rv > 0 ? rv : undefined, start };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch (error) {
    if (error instanceof SyntaxError) throw invalid('not a token of this server');
    throw error;
  }
}

function invalid(why: string): StatusError {
  return StatusError.badRequest(`continue key is not valid: ${why}`);
}
