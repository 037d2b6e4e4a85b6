import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import { type Clock, errorMessage } from '@gantry/base';
import { API_SERVERS, StatusError } from '@gantry/objects';
import { identityOfCertificate, type Logger, PeerTrust, type PeerIdentity, Places } from '@gantry/service';
import { offerUpgrade, upgradeOf } from '@gantry/streams';
import type { TlsSource } from '@gantry/tls';
import type { PodStreams } from '../streams/serve-stream.ts';
import type { NodeAccess } from './node-access.ts';
import type { EndpointReply, NodeEndpoints } from './endpoint.ts';
import { HeadDeadlines } from './head-deadlines.ts';

const TEXT = 'text/plain; charset=utf-8';
/** The limit of concurrent requests of authorised clients, since each may query the engine. */
const MAX_REQUESTS = 128;
/**
 * The limits of concurrent requests whose token the API server has not confirmed yet, and of connections without a certificate of the
 * cluster.
 */
const UNKNOWN_REQUESTS = { max: 64, maxOfAddress: 16 };
const UNKNOWN_CONNECTIONS = { max: 1000, maxOfAddress: 64 };
/** Connections with a certificate of the cluster are not counted. */
const NO_PLACE: Disposable = { [Symbol.dispose]: () => undefined };
/** A path with the ticket of a stream. */
const STREAM_PATH = /^\/streams\/([\w-]+)$/;

export interface NodeServerOptions {
  readonly tls: TlsSource;
  readonly access: Pick<NodeAccess, 'check'>;
  readonly endpoints: NodeEndpoints;
  readonly streams: Pick<PodStreams, 'serve'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Serves a node's endpoints over HTTP/1.1, on TLS connections that another listener has accepted. */
export interface NodeServer extends Disposable {
  accept(socket: TLSSocket): void;
}

/** Clients authenticate with a certificate of the cluster or with a token. */
export function createNodeServer(options: NodeServerOptions): NodeServer {
  const { tls, clock } = options;
  const trust = new PeerTrust(tls, clock);
  const heads = new HeadDeadlines(clock);
  const connections = new Places(UNKNOWN_CONNECTIONS);
  const places = {
    unknown: new Places(UNKNOWN_REQUESTS),
    known: new Places({ max: MAX_REQUESTS, maxOfAddress: MAX_REQUESTS }),
  };
  const begin = (request: IncomingMessage, response: ServerResponse) => {
    heads.requested(request.socket, response);
    const certificate = certificateOf(request.socket as TLSSocket, trust);
    void serve({ ...options, places }, certificate, request, response);
  };
  // `heads` end idle connections. Node.js would end them after 5 s.
  const server = createServer({ keepAliveTimeout: 0 }, begin);
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) =>
    begin(request, offerUpgrade(request, socket, head)),
  );
  return {
    accept: (socket) => {
      const place =
        certificateOf(socket, trust) === undefined ? connections.take(socket.remoteAddress ?? '') : NO_PLACE;
      if (place === undefined) {
        socket.destroy();
        return;
      }
      socket.once('close', () => place[Symbol.dispose]());
      heads.connected(socket);
      server.emit('connection', socket);
    },
    [Symbol.dispose]: () => {
      heads[Symbol.dispose]();
    },
  };
}

function certificateOf(tls: TLSSocket, trust: PeerTrust): PeerIdentity | undefined {
  if (!tls.authorized) return undefined;
  const certificate = tls.getPeerCertificate() as PeerCertificate | undefined;
  if (certificate?.raw === undefined || !trust.isGood(trust.accept(certificate))) return undefined;
  return identityOfCertificate(certificate);
}

interface Serving extends NodeServerOptions {
  readonly places: { readonly unknown: Places; readonly known: Places };
}

/** Never fails. */
async function serve(
  serving: Serving,
  certificate: PeerIdentity | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort(new StatusError('Timeout', 'the client has gone')));
  request.resume();
  try {
    await answer(serving, certificate, request, { response, signal: gone.signal });
  } catch (error) {
    if (gone.signal.aborted) return;
    if (!(error instanceof StatusError)) serving.logger.warn({ reason: errorMessage(error) }, 'node endpoint failed');
    if (response.headersSent) response.destroy();
    else {
      const code = error instanceof StatusError ? error.code : 500;
      response.writeHead(code, { 'content-type': TEXT }).end(`${errorMessage(error)}\n`);
    }
  }
}

interface Responding {
  readonly response: ServerResponse;
  /** Aborted when the client has disconnected. */
  readonly signal: AbortSignal;
}

/** Unconfirmed requests have their own limit, so that invalid tokens cannot block clients that the API server has confirmed. */
async function answer(
  serving: Serving,
  certificate: PeerIdentity | undefined,
  request: IncomingMessage,
  { response, signal }: Responding,
): Promise<void> {
  const { places, endpoints } = serving;
  if (await serveStream(serving, certificate, request, response)) return;
  const address = request.socket.remoteAddress ?? '';
  let admitted: Admitted;
  {
    using place = (certificate === undefined ? places.unknown : places.known).take(address);
    admitted = place === undefined ? TOO_MANY : await admit(serving, certificate, request, signal);
  }
  using place = 'code' in admitted ? undefined : places.known.take(address);
  if ('code' in admitted) await send(response, admitted, signal);
  else if (place === undefined) await send(response, TOO_MANY, signal);
  else await send(response, await endpoints({ ...admitted, signal }), signal);
}

/**
 * Serves a stream to which an API server has a ticket; returns false for other requests. Streams are limited by the agent's gRPC service.
 */
async function serveStream(
  { streams }: Serving,
  certificate: PeerIdentity | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const upgrade = upgradeOf(request);
  const url = URL.parse(request.url ?? '', 'https://node');
  const ticket = STREAM_PATH.exec(url?.pathname ?? '')?.[1];
  if (upgrade === undefined || url === null || ticket === undefined) return false;
  if (certificate?.organizations.includes(API_SERVERS) !== true) return false;
  await streams.serve(ticket, { req: request, res: response, upgrade, query: url.searchParams });
  return true;
}

/** An authorised request, or the reply that refuses it. */
type Admitted = { readonly path: string; readonly query: URLSearchParams } | EndpointReply;

async function admit(
  { access }: Serving,
  certificate: PeerIdentity | undefined,
  request: IncomingMessage,
  signal: AbortSignal,
): Promise<Admitted> {
  const url = URL.parse(request.url ?? '', 'https://node');
  if (url === null) return refusal(400, 'bad request');
  const method = request.method ?? '';
  const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  const path = decoded(url.pathname);
  if (path === undefined) return refusal(400, 'bad request');
  const verdict = await access.check({ method, path, certificate, token }, signal);
  if (verdict === 'unauthenticated') return refusal(401, 'Unauthorized');
  if (verdict !== 'allowed') return { code: 403, contentType: TEXT, body: verdict.refused };
  if (method !== 'GET') return refusal(405, '405: Method Not Allowed');
  return { path, query: url.searchParams };
}

/** Decodes the path before access is checked: `/%6cogs` is `/logs`. */
function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    // A percent sign without a valid character.
    return undefined;
  }
}

function refusal(code: number, message: string): EndpointReply {
  return { code, contentType: TEXT, body: `${message}\n` };
}

const TOO_MANY = refusal(429, 'too many requests');

/** Headers are sent with the first part of the body, so that an earlier failure can still become an error response. */
async function send(response: ServerResponse, { code, contentType, body }: EndpointReply, signal: AbortSignal) {
  const head = { 'content-type': contentType };
  if (typeof body === 'string') {
    response.writeHead(code, head).end(body);
    return;
  }
  const iterator = body[Symbol.asyncIterator]();
  const first = await iterator.next();
  response.writeHead(code, head);
  if (first.done === true) {
    response.end();
    return;
  }
  // The first part of a log is empty while the container is silent.
  response.flushHeaders();
  await pipeline(Readable.from(withFirst(first.value, iterator), { objectMode: false }), response, { signal });
}

async function* withFirst(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncIterable<Uint8Array> {
  yield first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}
