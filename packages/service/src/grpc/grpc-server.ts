import type { EventEmitter } from 'node:events';
import type { SecureServerOptions } from 'node:http2';
import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net';
import {
  type handleBidiStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  experimental,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { type Activities, type Clock, CrowdError, pause, type Source, Starts, youngCollections } from '@gantry/base';
import { serviceDefinition } from '@gantry/proto';
import { Places } from '../connections/places.ts';
import { whenGreeted } from '../connections/when-greeted.ts';
import { PeerTrust, type TrustedPeer } from '../connections/peer-trust.ts';
import type { Logger } from '../logger.ts';
import { chooseProtocol } from './choose-protocol.ts';
import type { GroupMember } from '../run-group.ts';
import { createCertificateProvider, type TlsSource } from '@gantry/tls';
import { identityOfCertificate, type PeerIdentity } from './peer-identity.ts';

/** A handler's information about its call, in addition to the request. */
export interface GrpcCall {
  /** Aborted when the client disconnects or its deadline passes. */
  readonly signal: AbortSignal;
  /** From the verified client certificate; undefined only on a server without TLS. */
  readonly identity: PeerIdentity | undefined;
  /** First value of a request header, as text. */
  header(name: string): string | undefined;
}

/** An error in gRPC's terms. Trailers ending in `-bin` are bytes. */
export interface GrpcError {
  readonly code: number;
  readonly message: string;
  readonly trailers: Readonly<Record<string, string | Buffer>>;
}

/** One method of a service; requests and responses are generated messages. */
export type GrpcHandler =
  | { readonly kind: 'unary'; readonly handle: (request: never, call: GrpcCall) => Promise<object> }
  | { readonly kind: 'stream'; readonly handle: (request: never, call: GrpcCall) => AsyncIterable<object> }
  | {
      readonly kind: 'duplex';
      /** Requests come as they are read. They fail when the client disconnects, and when the responses have ended. */
      readonly handle: (requests: AsyncIterable<never>, call: GrpcCall) => AsyncIterable<object>;
    };

/** A service with a handler for each method. */
export interface GrpcService {
  readonly descriptor: Parameters<typeof serviceDefinition>[0];
  /** By the method's name in camel case; one for each method. */
  readonly handlers: Readonly<Record<string, GrpcHandler>>;
}

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
/** How often streams are checked for the end of their client's certificate. */
const CHECK_PEERS_MS = 5000;

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
  settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: 64 * 1024 },
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
    server.addService(definition, implementation(service, options, stopping.signal, peers));
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

function implementation(
  service: GrpcService,
  options: ServerOptions,
  stopping: AbortSignal,
  peers: Peers,
): UntypedServiceImplementation {
  const out: UntypedServiceImplementation = {};
  for (const [name, handler] of Object.entries(service.handlers)) {
    switch (handler.kind) {
      case 'unary':
        out[name] = unary(handler, options, peers);
        break;
      case 'stream':
        out[name] = serverStream(handler, options, stopping, peers);
        break;
      case 'duplex':
        out[name] = duplexStream(handler, options, stopping, peers);
    }
  }
  return out;
}

/** A call with a stream of responses. */
type StreamCall = ServerWritableStream<object, object> | ServerDuplexStream<object, object>;
type Call = ServerUnaryCall<object, object> | StreamCall;

function unary(
  handler: Extract<GrpcHandler, { kind: 'unary' }>,
  { toGrpcError, logger, activities, starts }: ServerOptions,
  peers: Peers,
): handleUnaryCall<object, object> {
  return (call, callback) => {
    const peer = peers.of(call);
    if (peer === 'ended') {
      callback(CERTIFICATE_ENDED);
      return;
    }
    const { abort, unfollow } = followCancel(call);
    const activity = activities.begin('call', () => `${call.getPath()} of ${peer?.identity?.commonName ?? 'a client'}`);
    const begin = () => handler.handle(call.request as never, callInfo(call, abort.signal, peer));
    const turn = starts.next(sourceOf(call, peer));
    (turn === undefined ? begin() : turn.then(begin)).then(
      (response) => {
        unfollow();
        activities.end(activity);
        callback(null, response);
      },
      (error: unknown) => {
        unfollow();
        activities.end(activity);
        const failure = failureOf(error, toGrpcError);
        logUnexpected(logger, failure, error);
        callback({ code: failure.code, details: failure.message, metadata: trailers(failure) });
      },
    );
  };
}

function serverStream(
  handler: Extract<GrpcHandler, { kind: 'stream' }>,
  options: ServerOptions,
  stopping: AbortSignal,
  peers: Peers,
): handleServerStreamingCall<object, object> {
  return stream((call, info) => handler.handle(call.request as never, info), options, stopping, peers);
}

function duplexStream(
  handler: Extract<GrpcHandler, { kind: 'duplex' }>,
  options: ServerOptions,
  stopping: AbortSignal,
  peers: Peers,
): handleBidiStreamingCall<object, object> {
  // The end of the requests, or of the interest in them, must not end the responses.
  const requests = (call: ServerDuplexStream<object, object>) =>
    call.iterator({ destroyOnReturn: false }) as AsyncIterable<never>;
  return stream((call, info) => handler.handle(requests(call), info), options, stopping, peers);
}

function stream<C extends StreamCall>(
  open: (call: C, info: GrpcCall) => AsyncIterable<object>,
  { toGrpcError, logger, starts }: ServerOptions,
  stopping: AbortSignal,
  peers: Peers,
): (call: C) => void {
  return (call) => {
    const peer = peers.of(call);
    if (peer === 'ended') {
      call.emit('error', CERTIFICATE_ENDED);
      return;
    }
    const { abort } = followCancel(call);
    const stop = () => abort.abort(new StreamEndedError('the server is stopping'));
    stopping.addEventListener('abort', stop, { once: true });
    const left = peers.follow(peer, abort);
    const begin = () => pump(call, open(call, callInfo(call, abort.signal, peer)), abort.signal);
    const turn = starts.next(sourceOf(call, peer));
    (turn === undefined ? begin() : turn.then(begin))
      .then(() => {
        // A watch ends without an error when its signal is aborted.
        if (abort.signal.reason === PEER_ENDED) throw PEER_ENDED;
      })
      .then(
        () => call.end(),
        (error: unknown) => {
          if (call.cancelled) return;
          const failure = stopping.aborted
            ? { code: status.UNAVAILABLE, message: 'the server is stopping', trailers: {} }
            : error === PEER_ENDED
              ? { code: CERTIFICATE_ENDED.code, message: CERTIFICATE_ENDED.details, trailers: {} }
              : failureOf(error, toGrpcError);
          if (!stopping.aborted) logUnexpected(logger, failure, error);
          call.emit('error', { code: failure.code, details: failure.message, metadata: trailers(failure) });
        },
      )
      .finally(() => {
        left();
        stopping.removeEventListener('abort', stop);
      });
  };
}

/** Why a stream was ended by its server. */
export class StreamEndedError extends Error {
  override readonly name = 'StreamEndedError';
}

/** Created once: a stack trace for each call would cost more than the call itself. */
const CLIENT_GONE = new StreamEndedError('the client has gone');
const PEER_ENDED = new StreamEndedError('the client certificate is no longer valid');

const CERTIFICATE_ENDED = { code: status.UNAUTHENTICATED, details: PEER_ENDED.message };

/** Writes every element, and waits while the client reads more slowly. */
async function pump(call: StreamCall, elements: AsyncIterable<object>, signal: AbortSignal): Promise<void> {
  for await (const element of elements) {
    signal.throwIfAborted();
    if (!call.write(element)) await drained(call, signal);
  }
}

function drained(call: StreamCall, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = () => {
      call.off('drain', done);
      signal.removeEventListener('abort', done);
      if (signal.aborted) reject(signal.reason);
      else resolve();
    };
    call.on('drain', done);
    if (signal.aborted) done();
    else signal.addEventListener('abort', done, { once: true });
  });
}

/** Aborts when the client disconnects. grpc-js also emits `cancelled` after a call has succeeded, so `unfollow` is called before its end. */
function followCancel(call: EventEmitter & Pick<Call, 'cancelled'>): {
  readonly abort: AbortController;
  readonly unfollow: () => void;
} {
  const abort = new AbortController();
  const cancel = () => abort.abort(CLIENT_GONE);
  if (call.cancelled) cancel();
  else call.once('cancelled', cancel);
  return { abort, unfollow: () => call.off('cancelled', cancel) };
}

function callInfo(call: Call, signal: AbortSignal, peer: Peer | undefined): GrpcCall {
  return {
    signal,
    identity: peer?.identity,
    header: (name) => call.metadata.get(name)[0]?.toString(),
  };
}

/** The client of a connection. */
interface Peer {
  readonly identity: PeerIdentity | undefined;
  readonly certificate: TrustedPeer;
  /** Its open streams. */
  readonly streams: Set<AbortController>;
}

/** The clients of a server: their identities, decoded once for each connection, and their streams. */
class Peers {
  readonly #trust: PeerTrust | undefined;
  readonly #clock: Clock;
  readonly #bySession = new WeakMap<object, Peer>();
  readonly #streaming = new Set<Peer>();

  constructor({ tls, clock }: GrpcServerOptions) {
    this.#clock = clock;
    this.#trust = tls === 'insecure' ? undefined : new PeerTrust(tls, clock);
  }

  /** Who calls: undefined without TLS, 'ended' when the certificate is no longer good. */
  of(call: Call): Peer | 'ended' | undefined {
    if (this.#trust === undefined) return undefined;
    const session = sessionOf(call);
    let peer = session === undefined ? undefined : this.#bySession.get(session);
    if (peer === undefined) {
      const certificate = call.getAuthContext().sslPeerCertificate;
      if (certificate === undefined) return 'ended';
      peer = {
        identity: identityOfCertificate(certificate),
        certificate: this.#trust.accept(certificate),
        streams: new Set(),
      };
      if (session !== undefined) this.#bySession.set(session, peer);
    }
    return this.#trust.isGood(peer.certificate) ? peer : 'ended';
  }

  /** Ends a stream together with its client's certificate; the returned function is called when it ends by itself. */
  follow(peer: Peer | undefined, stream: AbortController): () => void {
    if (peer === undefined) return () => undefined;
    peer.streams.add(stream);
    this.#streaming.add(peer);
    return () => {
      peer.streams.delete(stream);
      if (peer.streams.size === 0) this.#streaming.delete(peer);
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for (const peer of this.#streaming) {
        if (this.#trust?.isGood(peer.certificate) === false)
          for (const stream of peer.streams) stream.abort(PEER_ENDED);
      }
      await pause(this.#clock, CHECK_PEERS_MS, signal);
    }
  }
}

/** The HTTP/2 session of a call, from grpc-js' private fields; undefined when another version stores it elsewhere. */
function sessionOf(call: Call): object | undefined {
  const inner = call as unknown as { readonly call?: { readonly stream?: { readonly session?: object | null } } };
  return inner.call?.stream?.session ?? undefined;
}

/** Whose turns a call takes. */
function sourceOf(call: Call, peer: Peer | undefined): Source {
  const name = peer?.identity?.commonName;
  return name === undefined ? `address:${addressOf(call.getPeer())}` : `user:${name}`;
}

/** Without the port: `10.0.0.1:40112`, `[::1]:40112`. */
function addressOf(peer: string): string {
  return peer.replace(/:\d+$/, '');
}

function failureOf(error: unknown, toGrpcError: (error: unknown) => GrpcError): GrpcError {
  if (!(error instanceof CrowdError)) return toGrpcError(error);
  return { code: status.RESOURCE_EXHAUSTED, message: error.message, trailers: {} };
}

function trailers(failure: GrpcError): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(failure.trailers)) metadata.set(name, value);
  return metadata;
}

function logUnexpected(logger: Logger, failure: GrpcError, error: unknown): void {
  if (failure.code === status.INTERNAL || failure.code === status.UNKNOWN) logger.error({ err: error }, 'call failed');
}
