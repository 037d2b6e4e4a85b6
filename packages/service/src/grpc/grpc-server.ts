import type { SecureServerOptions } from 'node:http2';
import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net';
import { experimental, Server, ServerCredentials } from '@grpc/grpc-js';
import { type Activities, type Clock, youngCollections } from '@gantry/base';
import { type Source, Starts } from '../starts.ts';
import { serviceDefinition } from '@gantry/proto';
import { createCertificateProvider, type TlsSource } from '@gantry/tls';
import { Places } from '../connections/places.ts';
import { whenGreeted } from '../connections/when-greeted.ts';
import type { Logger } from '../logger.ts';
import type { GroupMember } from '../run-group.ts';
import { chooseProtocol } from './choose-protocol.ts';
import type { GrpcError, GrpcService } from './grpc-service.ts';
import { WINDOW_BYTES } from './http2-stream.ts';
import { Peers } from './peers.ts';
import { serveCalls } from './serve-calls.ts';

type ServerOptions = GrpcServerOptions & { readonly starts: Starts };

/** The address, the services and the identity of a server. */
export interface GrpcServerOptions {
  /** Mutual TLS material, or 'insecure' for tests on a loopback address. */
  readonly tls: TlsSource | 'insecure';
  /** `0.0.0.0:6444`. */
  readonly address: string;
  readonly services: readonly GrpcService[];
  readonly clock: Clock;
  /** Unary calls, for reports of stalls. */
  readonly activities: Activities;
  readonly logger: Logger;
  /** Bounds the calls and connections that begin in one round of the event loop; without it the server has bounds of its own. */
  readonly starts?: Starts;
  /** Converts the error of a failed call for its client. */
  readonly toGrpcError: (error: unknown) => GrpcError;
  /** Takes the connections of TLS clients that do not speak HTTP/2 alone, as gRPC's clients do. Without it they are gRPC's, too. */
  readonly http?: (socket: Socket) => void;
  /** Called with the port that was bound. */
  readonly onListening?: (port: number) => void;
}

/** How long a connection without a call stays open. */
const IDLE_MS = 120_000;
const MAX_STREAMS = 10_000;
/** Open connections of one address, and of all. */
const CONNECTION_LIMITS = { max: 8000, maxOfAddress: 1000 };

const SERVER_OPTIONS = {
  'grpc.max_receive_message_length': 32 * 1024 * 1024,
  'grpc.max_send_message_length': -1,
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5000,
  'grpc.max_connection_idle_ms': IDLE_MS,
  'grpc.max_concurrent_streams': MAX_STREAMS,
  // Records of every call and connection, which are not used.
  'grpc.enable_channelz': 0,
};

/** Limits of TLS and HTTP/2, which grpc-js passes on to Node.js. */
const CONNECTION_OPTIONS: SecureServerOptions = {
  handshakeTimeout: 10_000,
  maxHeaderListPairs: 256,
  streamResetBurst: 1000,
  streamResetRate: 100,
  settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: 64 * 1024, initialWindowSize: WINDOW_BYTES },
};

/**
 * A gRPC server with mutual TLS. A renewed certificate applies to new connections; open ones are not closed. A client's certificate is
 * checked at every call, and streams end with it. Draining lets unary calls finish and ends streams.
 */
export function grpcServer(given: GrpcServerOptions): GroupMember {
  const options: ServerOptions = { ...given, starts: given.starts ?? new Starts(given.clock) };
  const server = new Server(SERVER_OPTIONS);
  const stopping = new AbortController();
  const peers = new Peers(options);
  for (const service of options.services) {
    const definition = serviceDefinition(service.descriptor, (bytes) => youngCollections.passed(bytes));
    server.addService(definition, serveCalls(service, options, stopping.signal, peers));
  }
  const listener = listenerOf(server, options);
  return {
    name: 'grpc-server',
    run: async (signal) => {
      const checked = peers.run(signal);
      await listen(listener, options, signal);
      await checked;
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

/** Accepts connections within the limits; grpc-js takes over from there. */
function listenerOf(server: Server, { tls, http, clock, starts }: ServerOptions): NetServer {
  const injector = server.createConnectionInjector(serverCredentials(tls));
  const places = new Places(CONNECTION_LIMITS);
  const listener = createServer({ noDelay: true }, (socket: Socket) => {
    const place = places.take(socket.remoteAddress ?? '');
    if (place === undefined) {
      socket.destroy();
      return;
    }
    socket.once('close', () => place[Symbol.dispose]());
    const source: Source = `address:${socket.remoteAddress ?? ''}`;
    const begin = (serve: (socket: Socket) => void) => () => {
      const isAccepted = starts.run(source, () => {
        if (!socket.destroyed) serve(socket);
      });
      if (!isAccepted) socket.destroy();
    };
    const grpc = begin(() => injector.injectConnection(socket));
    if (http === undefined) whenGreeted(socket, grpc);
    else chooseProtocol(socket, clock, { grpc, http: begin(http) });
  });
  return listener;
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

function serverCredentials(tls: TlsSource | 'insecure'): ServerCredentials {
  if (tls === 'insecure') return ServerCredentials.createInsecure();
  const provider = createCertificateProvider(tls);
  const credentials = experimental.createCertificateProviderServerCredentials(provider, provider, true);
  Object.assign(credentials._getConstructorOptions() ?? {}, CONNECTION_OPTIONS);
  return credentials;
}
