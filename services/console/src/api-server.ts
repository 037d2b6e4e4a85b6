import { Agent } from 'node:https';
import { type Clock, errorMessage, formatTime } from '@gantry/base';
import { createHttpClient } from '@gantry/client';
import { StatusError } from '@gantry/objects';
import type { SignedIn } from './sessions.ts';

/** The API server as the console reaches it: address and authority, no credential. */
export interface ApiServer {
  readonly host: string;
  readonly port: number;
  readonly ca: Buffer;
  /** Connections that are kept for further requests. Each request has the credential of its user. */
  readonly agent: Agent;
}

/** Connections to the API server without a request that stay open. It closes them after 90 s. */
const MAX_FREE = 32;
const FREE_MS = 60_000;
const DEADLINE_MS = 10_000;
const MAX_RESPONSE_BYTES = 256 * 1024;
/** Longer tokens do not fit into the headers of a request. */
const MAX_TOKEN = 12 * 1024;

export function createApiServer(server: string, ca: Buffer): ApiServer {
  const { hostname, port } = new URL(server);
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? 443 : Number(port),
    ca,
    agent: new Agent({ ca, keepAlive: true, maxFreeSockets: MAX_FREE, timeout: FREE_MS, scheduling: 'lifo' }),
  };
}

interface SelfSubjectReview {
  readonly status?: { readonly userInfo?: { readonly username?: unknown; readonly groups?: unknown } };
}

/**
 * Asks the API server who has the token. Throws StatusError: BadRequest for a text that cannot be one, Unauthorized for a token that is
 * not accepted, ServiceUnavailable when nobody answers, or not as an API server does.
 */
export async function reviewToken(api: ApiServer, token: string, clock: Clock, signal: AbortSignal): Promise<SignedIn> {
  if (token === '' || token.length > MAX_TOKEN || !/^[\x21-\x7e]+$/.test(token))
    throw StatusError.badRequest(`token: not a bearer token of 1 to ${MAX_TOKEN} printable characters without spaces`);
  const review = await ask<SelfSubjectReview>(api, token, signal, {
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }),
    contentType: 'application/json',
  });
  const { username, groups = [] } = review?.status?.userInfo ?? {};
  if (typeof username !== 'string' || username === '' || !isTexts(groups))
    throw StatusError.unavailable('the API server has not said who the user is');
  const endsAt = endOf(token);
  if (endsAt !== undefined && endsAt <= clock.now())
    throw StatusError.unauthorized(`the token has ended at ${formatTime(endsAt)}`);
  return { user: username, groups, token, endsAt };
}

/** The version of the API server, as `kubectl version` shows it. */
export async function versionOf(api: ApiServer, token: string, signal: AbortSignal): Promise<string> {
  const version = await ask<{ readonly gitVersion?: unknown }>(api, token, signal, { method: 'GET', path: '/version' });
  return typeof version?.gitVersion === 'string' ? version.gitVersion : '';
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

/** The JSON of a response, which may be of any type. Throws StatusError. */
async function ask<T>(
  { host, port, ca }: ApiServer,
  token: string,
  signal: AbortSignal,
  request: Parameters<ReturnType<typeof createHttpClient>['raw']>[0],
): Promise<T | null> {
  using client = createHttpClient({
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    ca,
    token,
    fieldManager: 'gantry-console',
    deadlineMs: DEADLINE_MS,
    maxResponseBytes: MAX_RESPONSE_BYTES,
  });
  try {
    return JSON.parse(await client.raw(request, signal)) as T | null;
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw StatusError.unavailable(`the API server does not answer: ${errorMessage(error)}`);
  }
}

/** The time `exp` of a JSON Web Token; undefined for other tokens. */
function endOf(token: string): number | undefined {
  const [, payload, signature] = token.split('.');
  if (payload === undefined || signature === undefined) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    const exp = typeof claims === 'object' && claims !== null ? (claims as { exp?: unknown }).exp : undefined;
    return typeof exp === 'number' && Number.isFinite(exp) ? exp * 1000 : undefined;
  } catch {
    // A token of another form, whose end only its issuer knows.
    return undefined;
  }
}
