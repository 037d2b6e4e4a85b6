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
  /** Answers everything. */
  readonly serve: (req: IncomingMessage, res: ServerResponse) => void;
  readonly tls: TlsSource;
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  /** Bounds the connections and requests that begin in one round of the event loop. */
  readonly starts: Starts;
  readonly logger: Logger;
  /** Those of a cluster when absent. */
  readonly limits?: ConnectionLimits;
  /** Told before the listeners stop: ends the streams that would last. */
  readonly onDrain: () => void;
  readonly onListening?: (port: number) => void;
  /** Whether a request to the path may change the protocol; others are served as if they had not asked to. */
  readonly mayUpgrade: (path: string) => boolean;
}

/** Streams of one HTTP/2 connection: a client library holds all its watches on one. */
const MAX_STREAMS = 1000;
const SESSION_MEMORY_MB = 256;
const HEADER_BYTES = 64 * 1024;
const MAX_HEADERS = 256;
const HANDSHAKE_MS = 10_000;
/** For all headers of a request of HTTP/1.1, and for the first request of a connection. */
const HEADERS_MS = 10_000;
const CHECK_HEADERS_MS = 2000;

/**
 * How long a connection may idle: 90 s as with Kubernetes, since a client that writes just when it is closed cannot tell what happened.
 * Behind the load balancer all anonymous clients have one address.
 */
const LIMITS: ConnectionLimits = { perOwner: 1000, total: 8000, anonymousIdleMs: 30_000, idleMs: 90_000 };
const SWEEP_MS = 5000;

const SERVER_OPTIONS: http2.SecureServerOptions & { readonly maxHeaderSize: number } = {
  allowHTTP1: true,
  requestCert: true,
  rejectUnauthorized: false,
  handshakeTimeout: HANDSHAKE_MS,
  maxSessionMemory: SESSION_MEMORY_MB,
  maxHeaderListPairs: MAX_HEADERS,
  maxHeaderSize: HEADER_BYTES,
  // A client library that drops all its watches resets as many streams at once as it may hold.
  streamResetBurst: MAX_STREAMS,
  streamResetRate: 33,
  settings: { maxConcurrentStreams: MAX_STREAMS, initialWindowSize: 1024 * 1024, maxHeaderListSize: HEADER_BYTES },
};

/**
 * HTTPS with HTTP/1.1 and HTTP/2 on one port. Client certificates are asked for and may be absent; whether one that came is
 * good is the authenticator's business. New TLS material takes effect for new connections. Connections are limited by address and
 * by user; idle ones are closed, and those whose client does not answer pings.
 */
export function httpsServer(options: HttpsServerOptions): GroupMember {
  const handle = dispatch(options);
  const server = http2.createSecureServer(
    { ...secureContext(options.tls.current()), ...SERVER_OPTIONS },
    handle as never,
  );
  const connections = new Connections(options.limits ?? LIMITS, options.clock);
  const state: OpenConnections = { listening: 'yes', sockets: new Map(), sessions: new Set() };
  const { sockets, sessions } = state;
  followConnections(server, state, acceptWithin(server, connections, options), options.clock);
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    sockets.set(socket, 'busy');
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

/** What the server has open. */
interface OpenConnections {
  listening: 'yes' | 'no';
  /** A connection of HTTP/1.1 that is idle can be closed when the server drains; HTTP/2 closes its sessions itself. */
  readonly sockets: Map<Duplex, 'idle' | 'busy' | 'http2'>;
  readonly sessions: Set<ServerHttp2Session>;
}

/** Keeps `state` up to date, and tells accepted connections when a request of HTTP/1.1 begins and ends. */
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
  server.on('request', (request, response) => {
    if (request.httpVersionMajor >= 2) return;
    const socket = request.socket;
    sockets.set(socket, 'busy');
    const connection = connectionOf(socket);
    connection?.begin();
    response.once('close', () => {
      connection?.end();
      if (!sockets.has(socket)) return;
      sockets.set(socket, 'idle');
      if (state.listening === 'no') socket.destroy();
    });
  });
}

/** Time has no limit but those named here: bodies have limits of their own, and what is sent through a proxy may take long. */
function setLimits(server: Http2SecureServer, mayUpgrade: HttpsServerOptions['mayUpgrade']): void {
  server.setTimeout(0);
  Object.assign(server, {
    keepAliveTimeout: LIMITS.idleMs,
    headersTimeout: HEADERS_MS,
    requestTimeout: 0,
    connectionsCheckingInterval: CHECK_HEADERS_MS,
    shouldUpgradeCallback: ({ url = '' }: IncomingMessage): boolean => mayUpgrade(url.replace(/[?#].*$/s, '')),
  });
}

/** Counts connections from the first on, and closes those that are refused. */
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

/** A connection of TCP, and how it is closed at its present stage. */
interface Accepted {
  connection: Connection | undefined;
  close: () => void;
}

/** The same for a connection and for TLS over it. */
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

/** Lets each request begin in its turn. */
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

/** Answers a request of which it was not looked who sent it, as flow control does: looking takes a turn as well. */
function refuse(req: IncomingMessage, res: ServerResponse, clock: Clock): void {
  discardBody(req, clock);
  res.writeHead(429, { 'content-type': 'text/plain; charset=utf-8', 'retry-after': '1' });
  res.end('Too many requests, please try again later.\n');
}

/** Whether the client has closed its connection or stream, so that no event will say it any more. */
function hasLeft(res: ServerResponse): boolean {
  return res.destroyed || http2StreamOf(res)?.destroyed === true;
}
