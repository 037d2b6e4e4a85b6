import type { IncomingMessage, ServerResponse } from 'node:http';
import http2, { type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Clock, pause } from '@gantry/base';
import {
  type Connection,
  type ConnectionLimits,
  Connections,
  type GroupMember,
  type Logger,
  type Source,
  type Starts,
  whenGreeted,
} from '@gantry/service';
import { offerUpgrade } from '@gantry/streams';
import type { TlsMaterial, TlsSource } from '@gantry/tls';
import { connectionOf, http2StreamOf, recordConnection, transportOf } from './client-connection.ts';
import { discardBody } from './discard-body.ts';
import { limitControlFrames, Pings } from './session-limits.ts';

export interface HttpsServerOptions {
  /** Serves all requests. */
  readonly serve: (req: IncomingMessage, res: ServerResponse) => void;
  readonly tls: TlsSource;
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  /** Limits the connections and requests that start in one round of the event loop. */
  readonly starts: Starts;
  readonly logger: Logger;
  /** Defaults to the limits below. */
  readonly limits?: ConnectionLimits;
  /** Called when the server drains. It ends long-running streams. */
  readonly onDrain: () => void;
  readonly onListening?: (port: number) => void;
  /**
   * Whether requests to the path may switch to the protocol, in lower case. Other requests are served as if they had no Upgrade header.
   */
  readonly mayUpgrade: (path: string, protocol: string) => boolean;
}

export interface HttpsServer extends GroupMember {
  /** Ends each open connection: of HTTP/2 after its running responses, of HTTP/1.1 after the next response that begins, which says so. */
  releaseConnections(): void;
}

/** Streams per HTTP/2 connection. A client library has all its watches on one connection. */
const MAX_STREAMS = 1000;
const SESSION_MEMORY_MB = 256;
const HEADER_BYTES = 64 * 1024;
const MAX_HEADERS = 256;
const HANDSHAKE_MS = 10_000;
/** Timeout for the headers of an HTTP/1.1 request, and for the first request of a connection. */
const HEADERS_MS = 10_000;
const CHECK_HEADERS_MS = 2000;

/**
 * Connections may be idle for 90 s, as in Kubernetes: a client that sends a request while its connection is closed cannot know whether
 * the request was served. Anonymous connections have a shorter limit. Behind the load balancer all of them have the same address.
 */
const LIMITS: ConnectionLimits = { perOwner: 1000, total: 8000, anonymousIdleMs: 30_000, idleMs: 90_000 };
const SWEEP_MS = 5000;
/** Time without a byte after which the kernel asks a client each second whether it is still there: those of HTTP/1.1 get no pings. */
const KEEP_ALIVE_MS = 15_000;

const SERVER_OPTIONS: http2.SecureServerOptions & { readonly maxHeaderSize: number } = {
  allowHTTP1: true,
  requestCert: true,
  rejectUnauthorized: false,
  handshakeTimeout: HANDSHAKE_MS,
  maxSessionMemory: SESSION_MEMORY_MB,
  maxHeaderListPairs: MAX_HEADERS,
  maxHeaderSize: HEADER_BYTES,
  // A client library that stops all its watches resets all its streams at once.
  streamResetBurst: MAX_STREAMS,
  streamResetRate: 33,
  settings: { maxConcurrentStreams: MAX_STREAMS, initialWindowSize: 1024 * 1024, maxHeaderListSize: HEADER_BYTES },
};

/**
 * HTTPS with HTTP/1.1 and HTTP/2 on one port. Client certificates are requested but optional; the authenticator verifies them. New TLS
 * material takes effect for new connections. The number of connections is limited per address and per user. The server closes idle
 * connections, and connections whose client does not respond to pings.
 */
export function httpsServer(options: HttpsServerOptions): HttpsServer {
  const handle = dispatch(options);
  const server = http2.createSecureServer(
    { ...secureContext(options.tls.current()), ...SERVER_OPTIONS },
    handle as never,
  );
  const connections = new Connections(options.limits ?? LIMITS, options.clock);
  const state: OpenConnections = {
    listening: 'yes',
    sockets: new Map(),
    sessions: new Set(),
    ending: new WeakSet(),
  };
  const { sockets, sessions } = state;
  followConnections(server, state, acceptWithin(server, connections, options), options.clock);
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    sockets.set(socket, 'upgraded');
    connectionOf(socket)?.begin();
    handle(request, offerUpgrade(request, socket, head));
  });
  setLimits(server, options.mayUpgrade);
  const unsubscribe = options.tls.subscribe((material) => server.setSecureContext(secureContext(material)));
  const pings = new Pings(options.clock);
  const sweep = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      connections.sweep();
      for (const session of sessions) pings.send(session);
      await pause(options.clock, SWEEP_MS, signal);
    }
  };
  return {
    name: 'https-server',
    run: async (signal) => {
      const swept = sweep(signal);
      await listen(server, options, signal);
      await swept;
    },
    releaseConnections: () => {
      for (const session of sessions) session.close();
      for (const [socket, is] of sockets) {
        if (is === 'http2' || is === 'upgraded') continue;
        state.ending.add(socket);
        if (is !== 'idle') is.shouldKeepAlive = false;
      }
    },
    drain: async () => {
      state.listening = 'no';
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      options.onDrain();
      for (const session of sessions) session.close();
      for (const [socket, is] of sockets) if (is === 'idle') socket.destroy();
      await closed;
    },
    close: async () => {
      unsubscribe();
      for (const session of sessions) session.destroy();
      for (const socket of sockets.keys()) socket.destroy();
    },
  };
}

/** The open connections of the server. */
interface OpenConnections {
  listening: 'yes' | 'no';
  /** HTTP/1.1 connections have their running response. Drained are the idle ones; HTTP/2 sessions are closed by their own method. */
  readonly sockets: Map<Duplex, 'idle' | 'http2' | 'upgraded' | ServerResponse>;
  readonly sessions: Set<ServerHttp2Session>;
  /** HTTP/1.1 connections that end after their next response. */
  readonly ending: WeakSet<Duplex>;
}

/** Keeps `state` up to date, and reports start and end of HTTP/1.1 requests to their connections. */
function followConnections(
  server: Http2SecureServer,
  state: OpenConnections,
  accepted: ReadonlyMap<string, Accepted>,
  clock: Clock,
): void {
  const { sockets, sessions } = state;
  server.on('secureConnection', (socket) => {
    sockets.set(socket, socket.alpnProtocol === 'h2' ? 'http2' : 'idle');
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
    const one = accepted.get(idOf(socket));
    if (one === undefined) return;
    one.close = () => socket.destroy();
    if (one.connection !== undefined) recordConnection(socket, one.connection);
  });
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
    followSession(session, accepted, clock);
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.httpVersionMajor >= 2) return;
    const socket = request.socket;
    sockets.set(socket, response);
    const connection = connectionOf(socket);
    connection?.begin();
    if (state.ending.has(socket)) response.shouldKeepAlive = false;
    response.once('close', () => {
      connection?.end();
      if (!sockets.has(socket)) return;
      sockets.set(socket, 'idle');
      if (state.listening === 'no') socket.destroy();
    });
  });
}

/** Sets all timeouts of the server. Requests have none: bodies have their own limits, and proxied requests may take long. */
function setLimits(server: Http2SecureServer, mayUpgrade: HttpsServerOptions['mayUpgrade']): void {
  server.setTimeout(0);
  Object.assign(server, {
    keepAliveTimeout: LIMITS.idleMs,
    headersTimeout: HEADERS_MS,
    requestTimeout: 0,
    connectionsCheckingInterval: CHECK_HEADERS_MS,
    shouldUpgradeCallback: ({ url = '', headers }: IncomingMessage): boolean =>
      mayUpgrade(url.replace(/[?#].*$/s, ''), (headers.upgrade ?? '').toLowerCase()),
  });
}

/** Counts TCP connections from their start, and closes those beyond the limits. */
function acceptWithin(
  server: Http2SecureServer,
  connections: Connections,
  { starts }: HttpsServerOptions,
): Map<string, Accepted> {
  const accepted = new Map<string, Accepted>();
  const handshake = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    const id = idOf(socket);
    const one: Accepted = { connection: undefined, close: () => socket.destroy() };
    one.connection = connections.open(socket.remoteAddress ?? '', () => one.close());
    if (one.connection === undefined) {
      socket.destroy();
      return;
    }
    accepted.set(id, one);
    socket.once('close', () => {
      accepted.delete(id);
      one.connection?.closed();
    });
    const source: Source = `address:${socket.remoteAddress ?? ''}`;
    const begin = (): void => {
      const isAccepted = starts.run(source, () => {
        for (const listener of handshake) if (!socket.destroyed) listener.call(server, socket);
      });
      if (!isAccepted) socket.destroy();
    };
    whenGreeted(socket, begin);
  });
  return accepted;
}

function followSession(session: ServerHttp2Session, accepted: ReadonlyMap<string, Accepted>, clock: Clock): void {
  session.on('error', () => session.destroy());
  limitControlFrames(session, clock);
  const one = accepted.get(idOf(session.socket));
  const connection = one?.connection;
  if (one === undefined || connection === undefined) return;
  one.close = () => session.close();
  recordConnection(session, connection);
  session.on('stream', (stream) => {
    connection.begin();
    stream.once('close', () => connection.end());
  });
}

/** A TCP connection, and the function that closes it in its current state. */
interface Accepted {
  connection: Connection | undefined;
  close: () => void;
}

/** Identifies a connection. The TCP socket and its TLS socket have the same id. */
function idOf({ remoteAddress = '', remotePort = 0 }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string {
  return `${remoteAddress}|${remotePort}`;
}

function secureContext({ ca, cert, key }: TlsMaterial): TlsMaterial & { minVersion: 'TLSv1.2' } {
  return { ca, cert, key, minVersion: 'TLSv1.2' };
}

function listen(server: Http2SecureServer, options: HttpsServerOptions, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      const { port } = server.address() as AddressInfo;
      options.logger.info({ port }, 'HTTPS server listens');
      options.onListening?.(port);
    });
  });
}

/** Serves the requests of all clients in turn. */
function dispatch({ serve, starts, clock }: HttpsServerOptions): HttpsServerOptions['serve'] {
  return (req: IncomingMessage, res: ServerResponse) => {
    if (req.httpVersionMajor > 1) req.headers.host ??= req.headers[':authority'] as string | undefined;
    const source = connectionOf(transportOf(req))?.source ?? `address:${req.socket.remoteAddress ?? ''}`;
    const isAccepted = starts.run(source, () => {
      if (!hasLeft(res)) serve(req, res);
    });
    if (!isAccepted) refuse(req, res, clock);
  };
}

/** Rejects a request with the response of flow control. The request is not authenticated, since that would take a turn as well. */
function refuse(req: IncomingMessage, res: ServerResponse, clock: Clock): void {
  discardBody(req, clock);
  res.writeHead(429, { 'content-type': 'text/plain; charset=utf-8', 'retry-after': '1' });
  res.end('Too many requests, please try again later.\n');
}

/** Whether the client has already closed its connection or stream, so that no close event will follow. */
function hasLeft(res: ServerResponse): boolean {
  return res.destroyed || http2StreamOf(res)?.destroyed === true;
}
