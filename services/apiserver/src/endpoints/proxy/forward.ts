import { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, request as plain } from 'node:http';
import { request as secure } from 'node:https';
import type { Duplex } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { brotliDecompressSync, gunzipSync, inflateRawSync } from 'node:zlib';
import { errorMessage, raceAbort } from '@gantry/base';
import { transportError } from '../../webhooks/index.ts';
import type { Backend } from '../../http/backend.ts';
import { http2StreamOf } from '../../http/client-connection.ts';
import type { Exchange } from '../../http/exchange.ts';
import { requestHeaders, responseHeaders } from './proxy-headers.ts';
import { type Place, rewriteHtml, rewriteLink } from './rewrite-html.ts';
import { release, type Upgrade, upgradeOf } from '@gantry/streams';

export interface Forwarding {
  readonly backend: Backend;
  /** What the backend is asked, escaped, with the query. */
  readonly target: string;
  /** What stands before the backend's paths for the client; '' when they are the same. */
  readonly prefix: string;
  /** Set in place of the client's; undefined takes one away. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Whether the backend may lead clients elsewhere; it may when absent. */
  readonly redirects?: 'refused';
  /** Called when the two sides have agreed on another protocol, which they speak from then on. */
  readonly onSwitched?: () => void;
  /** Cuts both connections then; the request's own signal when absent. */
  readonly cut?: AbortSignal;
}

/** The backend could not be asked. The message is what Kubernetes says of it. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** It had closed the connection that was kept from an earlier request. */
class StaleConnectionError extends UnreachableError {}

/** How long it may take to open a connection, as with Kubernetes' dialer. */
const CONNECT_MS = 30_000;
/** For the side that has not ended, once the other one has. */
const LINGER_MS = 5000;
/** Pages above this size pass with the links that they have. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/**
 * Sends the request on to a backend and its answer back, both as they come, no faster than the receiver reads. A change of
 * protocol joins the two connections. Fails with UnreachableError while nothing has been answered; what fails later ends the
 * client's connection.
 */
export async function forward(exchange: Exchange, forwarding: Forwarding): Promise<void> {
  const upgrade = upgradeOf(exchange.req);
  const reply = await askAgain(exchange, forwarding, upgrade);
  if (reply.kind === 'switched' && upgrade !== undefined) {
    await join(exchange, upgrade, reply, forwarding);
    return;
  }
  if (reply.kind === 'switched') {
    // Of no use; an error without a listener would end the process.
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

/** Asks once more on a new connection when the backend had closed the one that was kept before it read anything. */
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
  const { req, signal } = exchange;
  const { backend } = forwarding;
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const outgoing = open(exchange, forwarding, upgrade);
  const stop = (): void => void outgoing.destroy();
  signal.addEventListener('abort', stop, { once: true });
  outgoing.once('close', () => signal.removeEventListener('abort', stop));
  outgoing.on('socket', (socket) => {
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
  if (signal.aborted) stop();
  return promise;
}

/** A request to the backend, not yet ended. */
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
    // Certificates that are none, or a name of a user that no header can hold.
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
 * Says where the body ends. For methods that rarely have one Node.js says nothing by itself: the backend would take the body
 * for a request of its own, and believe what it says of its user.
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
  const { backend, prefix, redirects } = forwarding;
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
  const page = isPage && prefix !== '' && method !== 'HEAD' ? await readPage(response) : undefined;
  res.statusCode = statusCode >= 100 && statusCode < 1000 ? statusCode : 502;
  if (page?.text !== undefined) {
    delete headers['content-encoding'];
    delete headers['content-length'];
  }
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) res.setHeader(name, value);
  if (page?.text !== undefined) {
    res.end(rewriteHtml(page.text, place));
    return;
  }
  try {
    res.flushHeaders();
    for (const part of page?.parts ?? []) res.write(part);
    await pipeline(response, res);
  } catch {
    // Half an answer has gone out: that its connection ends is all that can be told.
    res.destroy();
  }
}

interface Page {
  /** What has been read of it. */
  readonly parts: readonly Buffer[];
  /** The whole page; absent when it is too large, or in an encoding that is not known. */
  readonly text?: string;
}

async function readPage(response: IncomingMessage): Promise<Page> {
  try {
    return await readWholePage(response);
  } catch (error) {
    throw new UnreachableError(`error trying to reach service: ${errorMessage(error)}`, { cause: error });
  }
}

async function readWholePage(response: IncomingMessage): Promise<Page> {
  const encoding = response.headers['content-encoding'] ?? '';
  if (!['', 'gzip', 'deflate', 'br'].includes(encoding)) return { parts: [] };
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response.iterator({ destroyOnReturn: false })) {
    parts.push(part as Buffer);
    size += (part as Buffer).length;
    if (size > MAX_PAGE_BYTES) return { parts };
  }
  return { parts, text: decoded(Buffer.concat(parts), encoding).toString('utf8') };
}

function decoded(bytes: Buffer, encoding: string): Buffer {
  const options = { maxOutputLength: 4 * MAX_PAGE_BYTES };
  if (bytes.length === 0 || encoding === '') return bytes;
  if (encoding === 'gzip') return gunzipSync(bytes, options);
  return encoding === 'br' ? brotliDecompressSync(bytes, options) : inflateRawSync(bytes, options);
}

/**
 * Lets both sides talk in the protocol that they have agreed on. When one of them has ended, the other one may still say the rest, and
 * close the connection itself: a connection that is closed with unread bytes loses what its other side has not read.
 */
async function join(
  { res, signal }: Exchange,
  { socket: client, head }: Upgrade,
  { response, socket: server, head: first }: Extract<Reply, { kind: 'switched' }>,
  { onSwitched, cut = signal }: Forwarding,
): Promise<void> {
  const lines = [`HTTP/1.1 101 ${response.statusMessage ?? 'Switching Protocols'}`];
  for (let i = 0; i + 1 < response.rawHeaders.length; i += 2) {
    lines.push(`${response.rawHeaders[i] ?? ''}: ${response.rawHeaders[i + 1] ?? ''}`);
  }
  res.statusCode = 101;
  res.detachSocket(client as Parameters<typeof res.detachSocket>[0]);
  client.write(`${lines.join('\r\n')}\r\n\r\n`);
  if (first.length > 0) server.unshift(first);
  if (head.length > 0) client.unshift(head);
  onSwitched?.();
  const ended = [finished(client), finished(server)];
  copy(client, server);
  copy(server, client);
  try {
    await raceAbort(Promise.race(ended), cut);
    await raceAbort(Promise.allSettled(ended), AbortSignal.any([cut, AbortSignal.timeout(LINGER_MS)]));
  } catch {
    // One side has broken off, does not close, or both are to be cut: there is nothing more to say.
  } finally {
    for (const socket of [client, server]) socket.on('error', () => undefined).destroy();
    for (const end of ended) end.catch(() => undefined);
  }
}

/** As `pipe`, but the memory of what has passed is free at once. */
function copy(from: Duplex, to: Duplex): void {
  from.on('data', (chunk: Buffer) => {
    const isReady = to.write(chunk, () => release(chunk));
    if (!isReady) from.pause();
  });
  to.on('drain', () => from.resume());
  from.once('end', () => to.end());
}
