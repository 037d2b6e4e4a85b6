import { type Clock, withDeadline } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import type { Status } from '@gantry/objects';

/** Who is signed in, as `GET /session` says. */
export interface Session {
  readonly user: string;
  readonly groups: readonly string[];
  /** Sent as `X-CSRF-Token` with each request that is not a GET. */
  readonly csrf: string;
  /** Its version is '' when the server was not asked or did not answer. */
  readonly cluster: { readonly id: string; readonly version: string };
}

interface RequestOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
}

/** Requests of one signed-in user. */
export interface Api {
  readonly session: Session;
  /** A request to the API server. `path` begins with `/api`, `/apis` or another path of the server. Throws StatusError. */
  fetch(path: string, options?: RequestOptions): Promise<Response>;
  /** As `fetch`, with the response's JSON, which must be complete within a deadline. */
  json<T>(path: string, options?: RequestOptions): Promise<T>;
  /** The address of a WebSocket for exec, attach and port-forward. */
  socketUrl(path: string): string;
}

/**
 * The page needs the session first, so a broken connection must not block it for long. When the API server does not respond, the console
 * responds after 20 s, because two of its requests end after 10 s each.
 */
const SESSION_MS = 25_000;
/** The API server ends requests that are no watches after a minute. */
const JSON_MS = 65_000;
const UNENDING = new AbortController().signal;

/** The current session, or undefined without one. Throws StatusError, and DeadlineError when the response is late. */
export async function readSession(clock: Clock, parent: AbortSignal = UNENDING): Promise<Session | undefined> {
  using signal = withDeadline(clock, parent, SESSION_MS);
  const response = await fetch('/session', { signal, cache: 'no-store' });
  if (response.status === 401) return undefined;
  await throwIfFailed(response);
  return (await response.json()) as Session;
}

/** Signs in with a token, or with the code of a one-time link. Throws as `readSession` does. */
export async function signIn(
  clock: Clock,
  credential: { readonly token: string } | { readonly code: string },
): Promise<Session> {
  {
    using signal = withDeadline(clock, UNENDING, SESSION_MS);
    const response = await fetch('/session', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(credential),
      signal,
    });
    await throwIfFailed(response);
  }
  const session = await readSession(clock);
  if (session === undefined) throw new StatusError('Unauthorized', 'the browser did not keep the session cookie');
  return session;
}

/** Ends the session. Throws as `readSession` does. */
export async function signOut(clock: Clock, { csrf }: Session): Promise<void> {
  using signal = withDeadline(clock, UNENDING, SESSION_MS);
  await throwIfFailed(await fetch('/session', { method: 'DELETE', headers: { 'X-CSRF-Token': csrf }, signal }));
}

/** `onSignedOut` is called when the server no longer knows the session. */
export function createApi(clock: Clock, session: Session, onSignedOut: () => void): Api {
  const send = async (path: string, options: RequestOptions = {}): Promise<Response> => {
    const { method = 'GET', body, contentType = 'application/json', accept = 'application/json', signal } = options;
    const response = await fetch(addressOf(path), {
      method,
      headers: {
        Accept: accept,
        ...(method === 'GET' ? {} : { 'X-CSRF-Token': session.csrf }),
        ...(body === undefined ? {} : { 'Content-Type': contentType }),
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      signal: signal ?? null,
      cache: 'no-store',
    });
    if (response.status === 401) onSignedOut();
    await throwIfFailed(response);
    return response;
  };
  return {
    session,
    fetch: send,
    json: async <T>(path: string, options?: RequestOptions) => {
      using signal = withDeadline(clock, options?.signal ?? UNENDING, JSON_MS);
      return (await (await send(path, { ...options, signal })).json()) as T;
    },
    socketUrl: (path) => `${location.origin.replace(/^http/, 'ws')}${addressOf(path)}`,
  };
}

/**
 * The address of a path of the API server. Throws StatusError BadRequest for a path that a browser would change: an object named `..` in a link
 * would lead to what is above it, such as its namespace.
 */
export function addressOf(path: string): string {
  const address = `/kubernetes${path}`;
  const [plain = ''] = address.split(/[?#]/, 1);
  if (!path.startsWith('/') || new URL(plain, 'http://console').pathname !== plain)
    throw StatusError.badRequest(`path: ${JSON.stringify(path)} has segments that are not names`);
  return address;
}

async function throwIfFailed(response: Response): Promise<void> {
  if (!response.ok) throw statusErrorFrom(response.status, await response.text());
}

/** The error of a failed response: its Status object, or its first line. */
export function statusErrorFrom(code: number, body: string): StatusError {
  const status = parseStatus(body);
  const message = status?.message ?? (body.trim().split('\n')[0]?.slice(0, 300) || `the server responded with ${code}`);
  return new StatusError((status?.reason ?? '') as StatusError['reason'], message, {
    code: status?.code ?? code,
    ...(status?.details === undefined ? {} : { details: status.details }),
  });
}

function parseStatus(body: string): Status | undefined {
  try {
    const value = JSON.parse(body) as Status | null;
    return value?.kind === 'Status' ? value : undefined;
  } catch {
    return undefined;
  }
}
