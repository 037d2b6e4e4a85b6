import { posix } from 'node:path';
import { StatusError } from '@gantry/objects';
import type { ResourceVersion } from '../storage/object-store.ts';

/** The position at which a paged list continues. All apiservers can use it. */
export interface ContinueToken {
  /** The version of the list. Undefined: continue with the newest version, which makes the list inconsistent. */
  readonly resourceVersion: ResourceVersion | undefined;
  /** The first key, relative to the prefix of the list. */
  readonly start: string;
}

const FORMAT = 'meta.k8s.io/v1';

/** Formats the opaque token that clients send back. */
export function formatContinueToken(token: ContinueToken): string {
  const json = { v: FORMAT, rv: token.resourceVersion ?? -1, start: token.start };
  return Buffer.from(JSON.stringify(json)).toString('base64url');
}

/** Inverse of `formatContinueToken`. Throws BadRequest with Kubernetes' message for an invalid token. */
export function parseContinueToken(text: string): ContinueToken {
  const value = parseJson(decode(text));
  if (typeof value !== 'object' || value === null) throw invalid(': json: cannot unmarshal into a continue token');
  const { v = '', rv = 0, start = '' } = value as { v?: unknown; rv?: unknown; start?: unknown };
  if (typeof v !== 'string' || typeof start !== 'string' || typeof rv !== 'number' || !Number.isSafeInteger(rv)) {
    throw invalid(': json: cannot unmarshal into a continue token');
  }
  if (v !== FORMAT) throw invalid(`: server does not recognize this encoded version ${v}`);
  if (rv === 0) throw invalid(`: incorrect encoded start resourceVersion (version ${FORMAT})`);
  if (start === '') throw invalid(`: encoded start key empty (version ${FORMAT})`);
  const path = start.startsWith('/') ? start : `/${start}`;
  // The key must be below the prefix of the list, so `..` and similar parts are rejected.
  if (posix.normalize(path) !== path || (path !== '/' && path.endsWith('/'))) throw invalid(`: ${start}`);
  return { resourceVersion: rv > 0 ? rv : undefined, start: path.slice(1) };
}

/** Decodes base64url without padding. Line breaks are ignored. */
function decode(text: string): string {
  const stray = /[^\w\-\r\n]/.exec(text);
  const length = text.replace(/[\r\n]/g, '').length;
  const at = stray?.index ?? (length % 4 === 1 ? text.length - 1 : -1);
  if (at >= 0) throw invalid(`: illegal base64 data at input byte ${at}`);
  return Buffer.from(text, 'base64url').toString();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw invalid(`: ${error.message}`);
    throw error;
  }
}

function invalid(why: string): StatusError {
  return StatusError.badRequest(`invalid continue token: continue key is not valid${why}`);
}
