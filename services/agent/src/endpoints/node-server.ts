import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import { type Clock, errorMessage } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import { identityOfCertificate, type Logger, PeerTrust, type PeerIdentity } from '@gantry/service';
import type { TlsSource } from '@gantry/tls';
import type { NodeAccess } from './node-access.ts';
import type { EndpointReply, NodeEndpoints } from './endpoint.ts';
import { HeadDeadlines } from './head-deadlines.ts';

const TEXT = 'text/plain; charset=utf-8';
/** Requests at once: each may ask the engine, and the API server about its user. */
const MAX_REQUESTS = 128;
const HANDSHAKE_MS = 10_000;

export interface NodeServerOptions {
  readonly tls: TlsSource;
  readonly access: Pick<NodeAccess, 'check'>;
  readonly endpoints: NodeEndpoints;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Serves a node's endpoints over HTTP/1.1 and TLS, on connections that another listener has accepted. */
export interface NodeServer extends Disposable {
  accept(socket: Socket): void;
}

/** Clients may have a certificate of the cluster, or a token. */
export function createNodeServer(options: NodeServerOptions): NodeServer {
  const { tls, clock } = options;
  const trust = new PeerTrust(tls, clock);
  const heads = new HeadDeadlines(clock);
  let open = 0;
  const server = createServer(
    {
      ...tls.current(),
      requestCert: true,
      // A client without one may have a token; what TLS found is asked below.
      rejectUnauthorized: false,
      handshakeTimeout: HANDSHAKE_MS,
      ALPNProtocols: ['http/1.1'],
    },
    (request, response) => {
      open++;
      heads.requested(request.socket, response);
      response.once('close', () => open--);
      void serve(options, open > MAX_REQUESTS ? 'full' : 'free', certificateOf(request, trust), request, response);
    },
  );
  server.on('secureConnection', (socket) => heads.connected(socket));
  const unsubscribe = tls.subscribe((material) => server.setSecureContext(material));
  return {
    accept: (socket) => void server.emit('connection', socket),
    [Symbol.dispose]: () => {
      unsubscribe();
      heads[Symbol.dispose]();
    },
  };
}

function certificateOf({ socket }: IncomingMessage, trust: PeerTrust): PeerIdentity | undefined {
  const tls = socket as TLSSocket;
  if (!tls.authorized) return undefined;
  const certificate = tls.getPeerCertificate() as PeerCertificate | undefined;
  if (certificate?.raw === undefined || !trust.isGood(trust.accept(certificate))) return undefined;
  return identityOfCertificate(certificate);
}

/** Never fails. */
async function serve(
  options: NodeServerOptions,
  load: 'full' | 'free',
  certificate: PeerIdentity | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort(new StatusError('Timeout', 'the client has gone')));
  request.resume();
  try {
    if (load === 'full') await send(response, refusal(429, 'too many requests'), gone.signal);
    else await send(response, await answer(options, certificate, request, gone.signal), gone.signal);
  } catch (error) {
    if (gone.signal.aborted) return;
    if (!(error instanceof StatusError)) options.logger.warn({ reason: errorMessage(error) }, 'node endpoint failed');
    if (response.headersSent) response.destroy();
    else {
      const code = error instanceof StatusError ? error.code : 500;
      response.writeHead(code, { 'content-type': TEXT }).end(`${errorMessage(error)}\n`);
    }
  }
}

async function answer(
  { access, endpoints }: NodeServerOptions,
  certificate: PeerIdentity | undefined,
  request: IncomingMessage,
  signal: AbortSignal,
): Promise<EndpointReply> {
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
  return await endpoints({ path, query: url.searchParams, signal });
}

/** The path is decoded before access is checked: `/%6cogs` is `/logs`. */
function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    // A percent sign that begins no character.
    return undefined;
  }
}

function refusal(code: number, message: string): EndpointReply {
  return { code, contentType: TEXT, body: `${message}\n` };
}

/** Headers go out with the first bytes, so that a failure can still be an answer of its own. */
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
  await pipeline(Readable.from(withFirst(first.value, iterator), { objectMode: false }), response, { signal });
}

async function* withFirst(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncIterable<Uint8Array> {
  yield first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}
