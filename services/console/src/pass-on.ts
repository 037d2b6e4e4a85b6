import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { request } from 'node:https';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { errorMessage, onAbort } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import { acceptUpgrade, joinConnections, type Upgrade, upgradeOf } from '@gantry/streams';
import type { ApiServer } from './api-server.ts';
import { PASSED_ON_POLICY } from './guard.ts';

/** A request of a signed-in user for a path of the API server. */
export interface Passing {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly api: ApiServer;
  /** Path and query at the API server, escaped as the client has sent them. */
  readonly target: string;
  readonly token: string;
  /** Aborted when the request must end. */
  readonly signal: AbortSignal;
}

/** Time to connect to the API server, and time without a byte after which the kernel asks whether it is still there. */
const CONNECT_MS = 5000;
const KEEP_ALIVE_MS = 15_000;

/** Headers of a page's request that reach the API server. No other can act there: the user is the token's. */
const REQUEST_HEADERS = [
  ...['accept', 'accept-encoding', 'content-encoding', 'content-length', 'content-type', 'if-match', 'if-none-match'],
  ...['sec-websocket-extensions', 'sec-websocket-key', 'sec-websocket-version'],
] as const;
/** Headers of the API server's response that reach the page. Cookies and policies of a proxied pod do not. */
const RESPONSE_HEADERS = [
  ...['audit-id', 'content-encoding', 'content-length', 'content-type', 'etag', 'last-modified', 'retry-after', 'vary'],
  ...['warning', 'x-kubernetes-pf-flowschema-uid', 'x-kubernetes-pf-prioritylevel-uid'],
] as const;
const UPGRADE_HEADERS = ['sec-websocket-accept', 'sec-websocket-extensions', 'sec-websocket-protocol'] as const;
/** A subprotocol that carries a token, by which a page could act as another user. */
const TOKEN_PROTOCOL = /^base64url\.bearer\.authorization\.k8s\.io\./;
/** The name of writes in audit logs and, unless a request names another one, in managed fields. */
const USER_AGENT = 'gantry-console';

/** What is kept of a document that tells its own age, such as one of OpenAPI; all else may have secrets, and is stored nowhere. */
const IS_STORED = /^\/openapi\//;

/**
 * The path and query of a request at the API server; undefined when the path is not below `prefix`. Throws StatusError BadRequest for
 * segments `.` and `..`, also escaped: clients remove them, and a server that does would serve another path than the one that was checked.
 */
export function targetOf(url: string, prefix: string): string | undefined {
  if (!url.startsWith(`${prefix}/`)) return undefined;
  const target = url.slice(prefix.length);
  const [path = ''] = target.split('?', 1);
  const hasDots = path.split(/\/|%2f|\\|%5c/i).some((segment) => /^(\.|%2e){1,2}$/i.test(segment));
  if (hasDots || path.startsWith('//') || path.includes('\\'))
    throw StatusError.badRequest(`path: ${JSON.stringify(path)} has segments that are not names`);
  return target;
}

/**
 * Passes a request on to the API server, and its response back, as streams with back-pressure in both directions; after a switch of the
 * protocol, the bytes of both connections. Throws StatusError ServiceUnavailable while nothing has been sent to the client. A later failure
 * closes the connection to the client.
 */
export async function passOn(passing: Passing): Promise<void> {
  const upgrade = upgradeOf(passing.req);
  const reply = await askAgain(passing, upgrade);
  if (reply.kind === 'answered') {
    await answer(passing, reply.response);
    return;
  }
  if (upgrade === undefined) {
    reply.socket.on('error', () => undefined).destroy();
    throw StatusError.unavailable('the API server has switched the protocol without being asked');
  }
  acceptUpgrade(passing.res, upgrade, undefined, [
    ['Upgrade', 'websocket'],
    ['Connection', 'Upgrade'],
    ...Object.entries(picked(reply.response, UPGRADE_HEADERS)),
  ]);
  await joinConnections(upgrade, reply, passing.signal);
}

type Reply =
  | { readonly kind: 'answered'; readonly response: IncomingMessage }
  | { readonly kind: 'switched'; readonly response: IncomingMessage; readonly socket: Duplex; readonly head: Buffer };

/** The API server has closed a connection that was kept for further requests. */
class StaleConnectionError extends Error {
  override readonly name = 'StaleConnectionError';
}

/** Sends the request; once more on a new connection, if it is safe to and the kept connection had been closed. */
async function askAgain(passing: Passing, upgrade: Upgrade | undefined): Promise<Reply> {
  const { req, signal } = passing;
  try {
    try {
      return await ask(passing, upgrade, 'kept');
    } catch (error) {
      const isSafe = ['GET', 'HEAD'].includes(req.method ?? '') && !hasBody(req);
      if (!(error instanceof StaleConnectionError) || !isSafe || signal.aborted) throw error;
      return await ask(passing, upgrade, 'new');
    }
  } catch (error) {
    throw StatusError.unavailable(`the API server does not answer: ${errorMessage(error)}`);
  }
}

async function ask(passing: Passing, upgrade: Upgrade | undefined, connection: 'kept' | 'new'): Promise<Reply> {
  const { req, signal } = passing;
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const outgoing = open(passing, upgrade, connection);
  const stop = onAbort(signal, () => outgoing.destroy());
  outgoing.once('close', () => stop[Symbol.dispose]());
  outgoing.on('socket', (socket) => {
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    if (!socket.connecting) return;
    socket.setTimeout(CONNECT_MS, () => outgoing.destroy(new ConnectError('no connection within 5 s')));
    socket.once('secureConnect', () => socket.setTimeout(0));
  });
  outgoing.on('error', (error: NodeJS.ErrnoException) => {
    const isStale = outgoing.reusedSocket && error.code === 'ECONNRESET';
    reject(isStale ? new StaleConnectionError(error.message) : error);
  });
  outgoing.on('response', (response) => resolve({ kind: 'answered', response }));
  outgoing.on('upgrade', (response, socket, head) => resolve({ kind: 'switched', response, socket, head }));
  if (upgrade !== undefined || !hasBody(req)) outgoing.end();
  else {
    // The API server may respond before it has read all: then the rest is read and dropped.
    req.pipe(outgoing);
    outgoing.once('close', () => req.unpipe(outgoing).resume());
    req.once('error', () => outgoing.destroy());
  }
  return promise;
}

class ConnectError extends Error {
  override readonly name = 'ConnectError';
}

function open({ req, api, target, token }: Passing, upgrade: Upgrade | undefined, kept: 'kept' | 'new'): ClientRequest {
  const headers: OutgoingHttpHeaders = {
    ...picked(req, REQUEST_HEADERS),
    authorization: `Bearer ${token}`,
    'user-agent': USER_AGENT,
  };
  if (upgrade !== undefined) {
    const protocols = protocolsOf(req);
    Object.assign(headers, { connection: 'Upgrade', upgrade: 'websocket' });
    if (protocols !== '') headers['sec-websocket-protocol'] = protocols;
  } else if (hasBody(req)) {
    // Without one of the two, the API server would take the body for the next request.
    if (headers['content-length'] === undefined) headers['transfer-encoding'] = 'chunked';
  } else if (['POST', 'PUT', 'PATCH'].includes(req.method ?? '')) headers['content-length'] = '0';
  const { host, port, ca, agent } = api;
  return request({
    method: req.method,
    host,
    port,
    ca,
    path: target,
    headers,
    agent: upgrade === undefined && kept === 'kept' ? agent : false,
  });
}

function protocolsOf(req: IncomingMessage): string {
  const offered = (req.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  return offered.filter((name) => name !== '' && !TOKEN_PROTOCOL.test(name)).join(', ');
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

async function answer({ res, target }: Passing, response: IncomingMessage): Promise<void> {
  const caching = IS_STORED.test(target) ? response.headers['cache-control'] : undefined;
  const headers: OutgoingHttpHeaders = {
    ...picked(response, RESPONSE_HEADERS),
    'cache-control': caching ?? 'no-store',
    'content-security-policy': PASSED_ON_POLICY,
  };
  try {
    res.writeHead(response.statusCode ?? 0, headers);
  } catch (error) {
    // A status that is none: of a pod, for example, whose response the API server passes on.
    response.destroy();
    throw StatusError.unavailable(`the response of the API server is not one of HTTP: ${errorMessage(error)}`);
  }
  res.flushHeaders();
  try {
    await pipeline(response, res);
  } catch {
    // A part of the response has been sent, so closing the connection is the only way to report the failure.
    res.destroy();
  }
}

function picked({ headers }: IncomingMessage, names: readonly string[]): Record<string, string> {
  const found = names.map((name) => [name, headers[name]] as const);
  return Object.fromEntries(found.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])));
}
