import { type IncomingMessage, ServerResponse } from 'node:http';
import http2, { type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { GroupMember, Logger } from '@gantry/service';
import type { TlsMaterial, TlsSource } from '@gantry/tls';
import { offerUpgrade } from './upgrades.ts';
import type { Request, Response, Router } from 'express';

export interface HttpsServerOptions {
  readonly router: Router;
  readonly tls: TlsSource;
  readonly host: string;
  readonly port: number;
  readonly logger: Logger;
  /** Told before the listeners stop: ends the streams that would last. */
  readonly onDrain: () => void;
  readonly onListening?: (port: number) => void;
  /** Whether a request to the path may change the protocol; others are served as if they had not asked to. */
  readonly mayUpgrade: (path: string) => boolean;
}

/** Streams of one HTTP/2 connection: a client library holds all its watches on one. */
const MAX_STREAMS = 1000;
const SESSION_MEMORY_MB = 256;
/** How long a connection of HTTP/1.1 may idle, as with Kubernetes: a client that writes just when it is closed cannot tell what happened. */
const IDLE_MS = 90_000;
const HEADER_BYTES = 64 * 1024;

/**
 * HTTPS with HTTP/1.1 and HTTP/2 on one port. Client certificates are asked for and may be absent; whether one that came is
 * good is the authenticator's business. New TLS material takes effect for new connections.
 */
export function httpsServer(options: HttpsServerOptions): GroupMember {
  const handle = dispatch(options.router);
  const server = http2.createSecureServer(
    {
      ...secureContext(options.tls.current()),
      allowHTTP1: true,
      requestCert: true,
      rejectUnauthorized: false,
      maxSessionMemory: SESSION_MEMORY_MB,
      maxHeaderListPairs: 2000,
      settings: { maxConcurrentStreams: MAX_STREAMS, initialWindowSize: 1024 * 1024, maxHeaderListSize: HEADER_BYTES },
    },
    handle as never,
  );
  // A connection of HTTP/1.1 that is idle can be closed when the server drains; HTTP/2 closes its sessions itself.
  const sockets = new Map<Duplex, 'idle' | 'busy' | 'http2'>();
  const sessions = new Set<ServerHttp2Session>();
  const state: { listening: 'yes' | 'no' } = { listening: 'yes' };
  server.on('secureConnection', (socket) => {
    sockets.set(socket, socket.alpnProtocol === 'h2' ? 'http2' : 'idle');
    socket.setNoDelay(true);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => session.destroy());
    session.once('close', () => sessions.delete(session));
  });
  server.on('request', (request, response) => {
    if (request.httpVersionMajor >= 2) return;
    const socket = request.socket;
    sockets.set(socket, 'busy');
    response.once('close', () => {
      if (!sockets.has(socket)) return;
      sockets.set(socket, 'idle');
      if (state.listening === 'no') socket.destroy();
    });
  });
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    sockets.set(socket, 'busy');
    handle(request, responseOn(request, socket, head));
  });
  server.setTimeout(0);
  const shouldUpgradeCallback = ({ url = '' }: IncomingMessage): boolean =>
    options.mayUpgrade(url.replace(/[?#].*$/s, ''));
  Object.assign(server, { keepAliveTimeout: IDLE_MS, shouldUpgradeCallback });
  const unsubscribe = options.tls.subscribe((material) => server.setSecureContext(secureContext(material)));
  return {
    name: 'https-server',
    run: (signal) => listen(server, options, signal),
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

/** The response to an upgrade request: an ordinary one that ends the connection, unless a handler takes the connection over. */
function responseOn(request: IncomingMessage, socket: Socket, head: Buffer): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.once('finish', () => socket.end());
  offerUpgrade(request, { socket, head });
  return response;
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

/**
 * An express router without an app around it: an app would give every request and response a prototype of its own, which those
 * of HTTP/2 do not bear, and which makes all that is done with them afterwards slower. The router answers everything.
 */
function dispatch(router: Router): (req: IncomingMessage, res: ServerResponse) => void {
  return (req: IncomingMessage, res: ServerResponse) => {
    if (req.httpVersionMajor > 1) req.headers.host ??= (req as unknown as { authority: string }).authority;
    router(req as Request, res as Response, () => res.destroy());
  };
}
