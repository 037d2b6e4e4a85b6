import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { Activities, Clock } from '@gantry/base';
import { type Source, Starts } from '../starts.ts';
import { serviceDefinition } from '@gantry/proto';
import { Silence, type TlsSource } from '@gantry/tls';
import { Places } from '../connections/places.ts';
import { whenGreeted } from '../connections/when-greeted.ts';
import type { Logger } from '../logger.ts';
import type { GroupMember } from '../run-group.ts';
import { RELEASED } from './call-failures.ts';
import type { GrpcError, GrpcService } from './grpc-service.ts';
import { Peers } from './peers.ts';
import { serveCalls } from './serve-calls.ts';

type ServerOptions = GrpcServerOptions & { readonly starts: Starts };
type ConnectionInjector = ReturnType<Server['createConnectionInjector']>;

/** The address, the services and the identity of a server. */
export interface GrpcServerOptions {
  /** Mutual TLS material, or 'insecure' for tests on a loopback address. */
  readonly tls: TlsSource | 'insecure';
  /** `0.0.0.0:6444`. */
  readonly address: string;
  readonly services: readonly GrpcService[];
  readonly clock: Clock;
  /** Records unary calls for reports of stalls. */
  readonly activities: Activities;
  readonly logger: Logger;
  /** Limits the calls and connections that begin in one round of the event loop; the server creates its own when absent. */
  readonly starts?: Starts;
  /** Converts the error of a failed call for its client. */
  readonly toGrpcError: (error: unknown) => GrpcError;
  /** Receives connections of clients that do not speak HTTP/2, with or without a certificate. Without it they are refused. */
  readonly http?: (socket: TLSSocket) => void;
  /** Called with the port that was bound. */
  readonly onListening?: (port: number) => void;
}

export interface GrpcServer extends GroupMember {
  /** Ends all streams, and each open connection after its running calls. */
  releaseConnections(): void;
}

/** Milliseconds that a connection without a call stays open. */
const IDLE_MS = 120_000;
const PING_MS = 10_000;
/** Milliseconds that a client may send nothing, though it gets pings. */
const SILENCE_MS = 15_000;
const HANDSHAKE_MS = 10_000;
/** Milliseconds for the running calls of a released connection. */
const RELEASE_MS = 15_000;
const MAX_STREAMS = 10_000;
/** Limits of open connections: in total and per address. */
const CONNECTION_LIMITS = { max: 8000, maxOfAddress: 1000 };

const SERVER_OPTIONS = {
  'grpc.max_receive_message_length': 32 * 1024 * 1024,
  'grpc.max_send_message_length': -1,
  'grpc.keepalive_time_ms': PING_MS,
  // `Silence` closes connections of silent clients: the library's timer counts time in which this process does not run.
  'grpc.keepalive_timeout_ms': 2 ** 31 - 1,
  'grpc.max_connection_idle_ms': IDLE_MS,
  'grpc.max_concurrent_streams': MAX_STREAMS,
  // Turns off records of every call and connection; they are not used.
  'grpc.enable_channelz': 0,
};

/**
 * A gRPC server with mutual TLS. A renewed server certificate applies to new connections; open ones are not closed. A client's certificate
 * is checked at every call, and its streams end when it expires. Draining lets unary calls finish and ends streams.
 */
export function grpcServer(given: GrpcServerOptions): GrpcServer {
  const options: ServerOptions = { ...given, starts: given.starts ?? new Starts(given.clock) };
  const server = new Server(SERVER_OPTIONS);
  const stopping = new AbortController();
  const peers = new Peers(options);
  let streams = new AbortController();
  const ending = () => ({ stopping: stopping.signal, released: streams.signal });
  for (const service of options.services) {
    server.addService(serviceDefinition(service.descriptor), serveCalls(service, options, ending, peers));
  }
  const silence = new Silence(options.clock, SILENCE_MS);
  const injection = new Injection(server);
  const listener = listenerOf(injection, peers, silence, options);
  return {
    name: 'grpc-server',
    run: async (signal) => {
      const checked = peers.run(signal);
      silence.start();
      try {
        await listen(listener, options, signal);
        await checked;
      } finally {
        silence.stop();
      }
    },
    releaseConnections: () => {
      injection.release(options.clock);
      streams.abort(RELEASED);
      streams = new AbortController();
    },
    drain: () => {
      stopping.abort();
      listener.close();
      return new Promise((resolve) => server.tryShutdown(() => resolve()));
    },
    close: async () => {
      listener.close();
      server.forceShutdown();
    },
  };
}

/** The way of connections into the library's server. */
class Injection {
  readonly #server: Server;
  #injector: ConnectionInjector;
  #connections = 0;

  constructor(server: Server) {
    this.#server = server;
    this.#injector = this.#create();
  }

  add(socket: Socket): void {
    this.#connections += 1;
    this.#injector.injectConnection(socket);
  }

  /** Connections end after their running calls, or after `RELEASE_MS`. Later ones get another injector: the library ends all of one. */
  release(clock: Clock): void {
    if (this.#connections === 0) return;
    const released = this.#injector;
    this.#injector = this.#create();
    this.#connections = 0;
    released.drain(RELEASE_MS);
    clock.setTimer(2 * RELEASE_MS, () => released.destroy());
  }

  #create(): ConnectionInjector {
    return this.#server.createConnectionInjector(ServerCredentials.createInsecure());
  }
}

/** Accepts connections within the limits. */
function listenerOf(
  injection: Injection,
  peers: Peers,
  silence: Silence,
  { tls, http, starts }: ServerOptions,
): NetServer {
  const inject = (socket: Socket) => {
    silence.add(socket);
    socket.once('close', () => silence.remove(socket));
    injection.add(socket);
  };
  const secure = tls === 'insecure' ? undefined : tlsListener(tls, { inject, peers, http });
  const accept = (socket: Socket) => (secure === undefined ? inject(socket) : secure.accept(socket));
  const places = new Places(CONNECTION_LIMITS);
  const listener = createServer({ noDelay: true }, (socket: Socket) => {
    const place = places.take(socket.remoteAddress ?? '');
    if (place === undefined) {
      socket.destroy();
      return;
    }
    socket.once('close', () => place[Symbol.dispose]());
    const source: Source = `address:${socket.remoteAddress ?? ''}`;
    whenGreeted(socket, () => {
      const isAccepted = starts.run(source, () => {
        if (!socket.destroyed) accept(socket);
      });
      if (!isAccepted) socket.destroy();
    });
  });
  return listener.once('close', () => secure?.[Symbol.dispose]());
}

interface Protocols {
  readonly inject: (socket: Socket) => void;
  readonly peers: Peers;
  readonly http: GrpcServerOptions['http'];
}

interface TlsListener extends Disposable {
  accept(socket: Socket): void;
}

/** Starts TLS on connections. Clients that speak only HTTP/2, such as gRPC clients, must have a certificate of the authority. */
function tlsListener(tls: TlsSource, { inject, peers, http }: Protocols): TlsListener {
  const server = createTlsServer({
    ...tls.current(),
    requestCert: true,
    rejectUnauthorized: http === undefined,
    handshakeTimeout: HANDSHAKE_MS,
    ALPNCallback: ({ protocols }) => {
      if (protocols.length === 1 && protocols[0] === 'h2') return 'h2';
      return http !== undefined && protocols.includes('http/1.1') ? 'http/1.1' : undefined;
    },
  });
  server.on('secureConnection', (socket) => {
    // The client may disconnect at any time.
    socket.on('error', () => socket.destroy());
    if (socket.alpnProtocol !== 'h2' && http !== undefined) http(socket);
    else if (socket.authorized && socket.alpnProtocol === 'h2' && peers.connected(socket)) {
      inject(socket);
    } else socket.destroy();
  });
  // Node.js closes the connection.
  server.on('tlsClientError', () => undefined);
  const unsubscribe = tls.subscribe((material) => server.setSecureContext(material));
  return { accept: (socket) => void server.emit('connection', socket), [Symbol.dispose]: unsubscribe };
}

function listen(listener: NetServer, options: GrpcServerOptions, signal: AbortSignal): Promise<void> {
  const { address } = options;
  const colon = address.lastIndexOf(':');
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
    listener.once('error', reject);
    listener.listen(Number(address.slice(colon + 1)), address.slice(0, colon), () => {
      const { port } = listener.address() as AddressInfo;
      options.logger.info({ address, port }, 'gRPC server listens');
      options.onListening?.(port);
    });
  });
}
