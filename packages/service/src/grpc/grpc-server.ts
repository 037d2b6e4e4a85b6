import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  experimental,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { serviceDefinition } from '@gantry/proto';
import type { Logger } from '../logger.ts';
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
  | { readonly kind: 'stream'; readonly handle: (request: never, call: GrpcCall) => AsyncIterable<object> };

/** A service with a handler for each method. */
export interface GrpcService {
  readonly descriptor: Parameters<typeof serviceDefinition>[0];
  /** By the method's name in camel case; one for each method. */
  readonly handlers: Readonly<Record<string, GrpcHandler>>;
}

/** The address, the services and the identity of a server. */
export interface GrpcServerOptions {
  /** Mutual TLS material, or 'insecure' for tests on a loopback address. */
  readonly tls: TlsSource | 'insecure';
  /** `0.0.0.0:6444`. */
  readonly address: string;
  readonly services: readonly GrpcService[];
  readonly logger: Logger;
  /** Converts the error of a failed call for its client. */
  readonly toGrpcError: (error: unknown) => GrpcError;
  /** Called with the port that was bound. */
  readonly onListening?: (port: number) => void;
}

const SERVER_OPTIONS = {
  'grpc.max_receive_message_length': 32 * 1024 * 1024,
  'grpc.max_send_message_length': -1,
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5000,
  'grpc.max_concurrent_streams': 10_000,
  // Records of every call and connection, which are not used.
  'grpc.enable_channelz': 0,
};

/**
 * A gRPC server with mutual TLS. A renewed certificate applies to new connections; open ones are not closed. Draining lets
 * unary calls finish and ends streams.
 */
export function grpcServer(options: GrpcServerOptions): GroupMember {
  const server = new Server(SERVER_OPTIONS);
  const stopping = new AbortController();
  for (const service of options.services) {
    server.addService(serviceDefinition(service.descriptor), implementation(service, options, stopping.signal));
  }
  return {
    name: 'grpc-server',
    run: (signal) => listen(server, options, signal),
    drain: () => {
      stopping.abort();
      return new Promise((resolve) => server.tryShutdown(() => resolve()));
    },
    close: async () => server.forceShutdown(),
  };
}

function listen(server: Server, options: GrpcServerOptions, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
    server.bindAsync(options.address, serverCredentials(options.tls), (error, port) => {
      if (error !== null) {
        reject(error);
        return;
      }
      options.logger.info({ address: options.address, port }, 'gRPC server listens');
      options.onListening?.(port);
    });
  });
}

function serverCredentials(tls: TlsSource | 'insecure'): ServerCredentials {
  if (tls === 'insecure') return ServerCredentials.createInsecure();
  const provider = createCertificateProvider(tls);
  return experimental.createCertificateProviderServerCredentials(provider, provider, true);
}

function implementation(
  service: GrpcService,
  options: GrpcServerOptions,
  stopping: AbortSignal,
): UntypedServiceImplementation {
  const out: UntypedServiceImplementation = {};
  for (const [name, handler] of Object.entries(service.handlers)) {
    out[name] = handler.kind === 'unary' ? unary(handler, options) : stream(handler, options, stopping);
  }
  return out;
}

type Call = ServerUnaryCall<object, object> | ServerWritableStream<object, object>;

function unary(
  handler: Extract<GrpcHandler, { kind: 'unary' }>,
  { toGrpcError, logger }: GrpcServerOptions,
): handleUnaryCall<object, object> {
  return (call, callback) => {
    const { abort, unfollow } = followCancel(call);
    handler.handle(call.request as never, callInfo(call, abort.signal)).then(
      (response) => {
        unfollow();
        callback(null, response);
      },
      (error: unknown) => {
        unfollow();
        const failure = toGrpcError(error);
        logUnexpected(logger, failure, error);
        callback({ code: failure.code, details: failure.message, metadata: trailers(failure) });
      },
    );
  };
}

function stream(
  handler: Extract<GrpcHandler, { kind: 'stream' }>,
  { toGrpcError, logger }: GrpcServerOptions,
  stopping: AbortSignal,
): handleServerStreamingCall<object, object> {
  return (call) => {
    const { abort } = followCancel(call);
    const stop = () => abort.abort(new StreamEndedError('the server is stopping'));
    stopping.addEventListener('abort', stop, { once: true });
    pump(call, handler.handle(call.request as never, callInfo(call, abort.signal)), abort.signal)
      .then(
        () => call.end(),
        (error: unknown) => {
          if (call.cancelled) return;
          const failure = stopping.aborted
            ? { code: status.UNAVAILABLE, message: 'the server is stopping', trailers: {} }
            : toGrpcError(error);
          if (!stopping.aborted) logUnexpected(logger, failure, error);
          call.emit('error', { code: failure.code, details: failure.message, metadata: trailers(failure) });
        },
      )
      .finally(() => stopping.removeEventListener('abort', stop));
  };
}

/** Why a stream was ended by its server. */
export class StreamEndedError extends Error {
  override readonly name = 'StreamEndedError';
}

/** Created once: a stack trace for each call would cost more than the call itself. */
const CLIENT_GONE = new StreamEndedError('the client has gone');

/** Writes every element, and waits while the client reads more slowly. */
async function pump(
  call: ServerWritableStream<object, object>,
  elements: AsyncIterable<object>,
  signal: AbortSignal,
): Promise<void> {
  for await (const element of elements) {
    signal.throwIfAborted();
    if (!call.write(element)) await drained(call, signal);
  }
}

function drained(call: ServerWritableStream<object, object>, signal: AbortSignal): Promise<void> {
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
function followCancel(call: Call): { readonly abort: AbortController; readonly unfollow: () => void } {
  const abort = new AbortController();
  const cancel = () => abort.abort(CLIENT_GONE);
  if (call.cancelled) cancel();
  else call.once('cancelled', cancel);
  return { abort, unfollow: () => call.off('cancelled', cancel) };
}

function callInfo(call: Call, signal: AbortSignal): GrpcCall {
  return {
    signal,
    identity: identityOf(call),
    header: (name) => call.metadata.get(name)[0]?.toString(),
  };
}

/** Caches the identity of each connection: decoding a certificate costs more than a small call. */
const identities = new WeakMap<object, { readonly of: PeerIdentity | undefined }>();

function identityOf(call: Call): PeerIdentity | undefined {
  const session = sessionOf(call);
  const known = session === undefined ? undefined : identities.get(session);
  if (known !== undefined) return known.of;
  const of = identityOfCertificate(call.getAuthContext().sslPeerCertificate);
  if (session !== undefined) identities.set(session, { of });
  return of;
}

/** The HTTP/2 session of a call, from grpc-js' private fields; undefined when another version stores it elsewhere. */
function sessionOf(call: Call): object | undefined {
  const inner = call as unknown as { readonly call?: { readonly stream?: { readonly session?: object | null } } };
  return inner.call?.stream?.session ?? undefined;
}

function trailers(failure: GrpcError): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(failure.trailers)) metadata.set(name, value);
  return metadata;
}

function logUnexpected(logger: Logger, failure: GrpcError, error: unknown): void {
  if (failure.code === status.INTERNAL || failure.code === status.UNKNOWN) logger.error({ err: error }, 'call failed');
}
