import { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, request as plain } from 'node:http';
import { request as secure } from 'node:https';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { anySignal, errorMessage, onAbort } from '@gantry/base';
import { transportError } from '../../webhooks/index.ts';
import type { Backend } from '../../http/backend.ts';
import { http2StreamOf } from '../../http/client-connection.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { Turns } from '../../turns.ts';
import { openPage, type Page } from './page-encoding.ts';
import { requestHeaders, responseHeaders } from './proxy-headers.ts';
import { type Place, rewriteLink, rewritePage } from './rewrite-html.ts';
import { acceptUpgrade, joinConnections, type Upgrade, upgradeOf } from '@gantry/streams';

export interface Forwarding {
  readonly backend: Backend;
  /** Path and query of the request to the backend, escaped. */
  readonly target: string;
  /** The prefix that the client sees before the backend's paths; '' when the paths are the same. */
  readonly prefix: string;
  /** Links of HTML pages are rewritten to go through the prefix, in these turns. Without them pages are not changed. */
  readonly turns?: Turns;
  /** Takes a place in memory for a compressed page. Without one the page is not changed. */
  readonly placeForPage?: () => Disposable | undefined;
  /** Headers that replace those of the client. The value undefined removes a header. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** 'refused' turns redirects of the backend into 502. */
  readonly redirects?: 'refused';
  /** Called when client and backend have switched the protocol. */
  readonly onSwitched?: () => void;
  /** Called when bytes of the backend arrive after that. */
  readonly onReceived?: () => void;
  /** Closes both connections after a protocol switch. Defaults to the signal of the request. */
  readonly cut?: AbortSignal;
}

/** The backend is not reachable. The message is Kubernetes' message. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** The backend has closed a kept-alive connection. */
class StaleConnectionError extends UnreachableError {}

/** Timeout for opening a connection, as in Kubernetes' dialer. */
const CONNECT_MS = 30_000;
/** Time without a byte after which the kernel asks the backend each second whether the connection is still there. */
const KEEP_ALIVE_MS = 15_000;

/**
 * Forwards the request to a backend and streams the response back, with back-pressure in both directions. After a protocol switch it
 * connects the two connections. Throws UnreachableError if nothing has been sent to the client yet. A later failure closes the
 * connection to the client.
 */
export async function forward(exchange: Exchange, forwarding: Forwarding): Promise<void> {
  const upgrade = upgradeOf(exchange.req);
  const reply = await askAgain(exchange, forwarding, upgrade);
  if (reply.kind === 'switched' && upgrade !== undefined) {
    await join(exchange, upgrade, reply, forwarding);
    return;
  }
  if (reply.kind === 'switched') {
    // An error event without a listener would end the process.
    reply.socket.on('error', () => undefined).destroy();
    throw new UnreachableError('error trying to reach service: the backend changed the protocol without being asked');
  }
  const { response } = reply;
  const { statusCode = 0 } = response;
  if (upgrade !== undefined && statusCode < 400) {
    response.destroy();
    throw new UnreachableError(`invalid upgrade response: status code ${statusCode}`);
  }
  await answer(exchange, forwarding, response);
}

/** Sends the request. If the backend had closed the kept-alive connection, sends a safe request again on a new connection. */
async function askAgain(exchange: Exchange, forwarding: Forwarding, upgrade: Upgrade | undefined): Promise<Reply> {
  try {
    return await ask(exchange, forwarding, upgrade);
  } catch (error) {
    const isSafe = ['GET', 'HEAD', 'OPTIONS'].includes(exchange.method) && !hasBody(exchange.req);
    if (!(error instanceof StaleConnectionError) || !isSafe || exchange.signal.aborted) throw error;
    const { agent: _, ...backend } = forwarding.backend;
    return ask(exchange, { ...forwarding, backend }, upgrade);
  }
}

type Reply =
  | { readonly kind: 'answered'; readonly response: IncomingMessage }
  | { readonly kind: 'switched'; readonly response: IncomingMessage; readonly socket: Duplex; readonly head: Buffer };

async function ask(exchange: Exchange, forwarding: Forwarding, upgrade: Upgrade | undefined): Promise<Reply> {
  const { req } = exchange;
  const { backend, cut = exchange.signal } = forwarding;
  const signal = anySignal(exchange.signal, cut);
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const outgoing = open(exchange, forwarding, upgrade);
  onAbort(signal, () => outgoing.destroy());
  outgoing.once('close', () => signal[Symbol.dispose]());
  outgoing.on('socket', (socket) => {
    // A backend that is gone without a word is found within about ten seconds more.
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    if (!socket.connecting) return;
    socket.setTimeout(CONNECT_MS, () => outgoing.destroy(new Error(`dial tcp ${whereOf(backend)}: i/o timeout`)));
    socket.once(backend.scheme === 'https' ? 'secureConnect' : 'connect', () => socket.setTimeout(0));
  });
  const fail = (error: Error): void => {
    const { message } = transportError(error, whereOf(backend), backend.tls?.servername ?? backend.host);
    const isStale = outgoing.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
    const Kind = isStale ? StaleConnectionError : UnreachableError;
    reject(new Kind(`error trying to reach service: ${message}`, { cause: error }));
  };
  outgoing.on('error', fail);
  outgoing.on('response', (response) => resolve({ kind: 'answered', response }));
  outgoing.on('upgrade', (response, socket, head) => resolve({ kind: 'switched', response, socket, head }));
  if (upgrade !== undefined || !hasBody(req)) outgoing.end();
  else pipeline(req, outgoing).catch(fail);
  return promise;
}

/** Opens a request to the backend. The caller ends it. */
function open(exchange: Exchange, forwarding: Forwarding, upgrade: Upgrade | undefined): ClientRequest {
  const { backend, target } = forwarding;
  const send = backend.scheme === 'https' ? secure : plain;
  try {
    return send({
      method: exchange.method,
      host: backend.host,
      port: backend.port,
      path: target,
      headers: headersOf(exchange, forwarding, upgrade),
      agent: upgrade === undefined ? (backend.agent ?? false) : false,
      ...backend.tls,
    });
  } catch (error) {
    // Invalid certificates, or a user name with characters that a header cannot contain.
    throw new UnreachableError(`error trying to reach service: ${errorMessage(error)}`, { cause: error });
  }
}

function whereOf({ host, port }: Backend): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function hasBody(req: IncomingMessage): boolean {
  const stream = http2StreamOf(req);
  if (stream !== undefined) return stream.endAfterHeaders !== true;
  const { 'content-length': length, 'transfer-encoding': coding } = req.headers;
  return coding !== undefined || (length !== undefined && length !== '0');
}

/**
 * Sets the headers that define the end of the body. Node.js does not set them for methods that rarely have a body. Without them the
 * backend would parse the body as another request, and trust the user names in its headers.
 */
function framed(headers: OutgoingHttpHeaders, req: IncomingMessage): OutgoingHttpHeaders {
  if (hasBody(req))
    return headers['content-length'] === undefined ? { ...headers, 'transfer-encoding': 'chunked' } : headers;
  return ['POST', 'PUT', 'PATCH'].includes(req.method ?? '') ? { ...headers, 'content-length': '0' } : headers;
}

function headersOf(exchange: Exchange, forwarding: Forwarding, upgrade: Upgrade | undefined): OutgoingHttpHeaders {
  const { req } = exchange;
  const { prefix, target, headers } = forwarding;
  const own = requestHeaders(exchange, `${prefix}${target.replace(/\?.*$/s, '')}`);
  const merged: Record<string, OutgoingHttpHeaders[string]> = { ...own };
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value === undefined) delete merged[name];
    else merged[name] = typeof value === 'string' ? value : [...value];
  }
  if (upgrade === undefined) return framed(merged, req);
  return { ...merged, connection: 'Upgrade', upgrade: req.headers.upgrade };
}

async function answer(exchange: Exchange, forwarding: Forwarding, response: IncomingMessage): Promise<void> {
  const { req, res, method } = exchange;
  const { backend, prefix, redirects, turns } = forwarding;
  const { statusCode = 0 } = response;
  if (redirects === 'refused' && statusCode >= 300 && statusCode < 400 && response.headers.location !== undefined) {
    response.destroy();
    res.statusCode = 502;
    res.end('the backend attempted to redirect this request, which is not permitted');
    return;
  }
  const place: Place = { prefix, backend: `${backend.host}:${backend.port}`, asked: req.headers.host ?? '' };
  const headers = responseHeaders(response.headers);
  if (typeof headers['location'] === 'string') headers['location'] = rewriteLink(headers['location'], place);
  const isPage =
    headers['location'] === undefined && /^text\/html\s*(;|$)/.test(response.headers['content-type'] ?? '');
  const isOpened = turns !== undefined && isPage && prefix !== '' && method !== 'HEAD';
  const isCompressed = (response.headers['content-encoding'] ?? '') !== '';
  using held = isOpened && isCompressed ? forwarding.placeForPage?.() : undefined;
  const page = isOpened && (!isCompressed || held !== undefined) ? await read(response) : undefined;
  res.statusCode = statusCode >= 100 && statusCode < 1000 ? statusCode : 502;
  if (page?.plain !== undefined) {
    delete headers['content-encoding'];
    delete headers['content-length'];
  }
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) res.setHeader(name, value);
  try {
    res.flushHeaders();
    if (turns !== undefined && page?.plain !== undefined) {
      await pipeline(page.plain, (bytes) => rewritePage(bytes, place, turns, exchange.signal), res);
      return;
    }
    for (const part of page?.parts ?? []) res.write(part);
    await pipeline(response, res);
  } catch {
    // A part of the response has been sent, so closing the connection is the only way to report the failure.
    res.destroy();
  }
}

async function read(response: IncomingMessage): Promise<Page> {
  try {
    return await openPage(response);
  } catch (error) {
    throw new UnreachableError(`error trying to reach service: ${errorMessage(error)}`, { cause: error });
  }
}

/** Passes the backend's agreement to switch the protocol on to the client, and connects the two. */
async function join(
  { res, signal }: Exchange,
  upgrade: Upgrade,
  { response, socket, head }: Extract<Reply, { kind: 'switched' }>,
  { onSwitched, onReceived, cut = signal }: Forwarding,
): Promise<void> {
  const headers = Array.from({ length: response.rawHeaders.length / 2 }, (_, i): [string, string] => [
    response.rawHeaders[2 * i] ?? '',
    response.rawHeaders[2 * i + 1] ?? '',
  ]);
  acceptUpgrade(res, upgrade, response.statusMessage, headers);
  onSwitched?.();
  const joined = joinConnections(upgrade, { socket, head }, cut);
  if (onReceived !== undefined) socket.on('data', onReceived);
  await joined;
}
