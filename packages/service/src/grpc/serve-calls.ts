import type { EventEmitter } from 'node:events';
import {
  type handleBidiStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type ServerDuplexStream,
  type ServerWritableStream,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { type Activities, raceAbort, type Starts } from '@gantry/base';
import type { Logger } from '../logger.ts';
import {
  CERTIFICATE_ENDED,
  CLIENT_GONE,
  failureOf,
  logUnexpected,
  PEER_ENDED,
  StreamEndedError,
  trailers,
} from './call-failures.ts';
import type { GrpcCall, GrpcError, GrpcHandler, GrpcService } from './grpc-service.ts';
import { type Call, type Peer, type Peers, sourceOf, type StreamCall } from './peers.ts';

/** What calls need of their server. */
export interface CallOptions {
  readonly activities: Activities;
  readonly logger: Logger;
  readonly starts: Starts;
  readonly toGrpcError: (error: unknown) => GrpcError;
}

/** The methods of a service as grpc-js calls them. Streams end when `stopping` is aborted. */
export function serveCalls(
  service: GrpcService,
  options: CallOptions,
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

function unary(
  handler: Extract<GrpcHandler, { kind: 'unary' }>,
  { toGrpcError, logger, activities, starts }: CallOptions,
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
  options: CallOptions,
  stopping: AbortSignal,
  peers: Peers,
): handleServerStreamingCall<object, object> {
  const open = (call: ServerWritableStream<object, object>, info: GrpcCall) =>
    handler.handle(call.request as never, info);
  return stream({ open, write: writeAhead }, options, stopping, peers);
}

function duplexStream(
  handler: Extract<GrpcHandler, { kind: 'duplex' }>,
  options: CallOptions,
  stopping: AbortSignal,
  peers: Peers,
): handleBidiStreamingCall<object, object> {
  const open = (call: ServerDuplexStream<object, object>, info: GrpcCall) => {
    readOneAhead(call);
    // The end of the requests, or of the interest in them, must not end the responses.
    return handler.handle(call.iterator({ destroyOnReturn: false }) as AsyncIterable<never>, info);
  };
  return stream({ open, write: writeOne }, options, stopping, peers);
}

/**
 * The library reads 16 requests ahead and has no setting for it; those of duplex calls are as large as the responses (`writeOne`). This is
 * a private field of Node.js, without which more is read ahead.
 */
function readOneAhead(call: object): void {
  const { _readableState: state } = call as { readonly _readableState?: { highWaterMark: number } };
  if (state !== undefined) state.highWaterMark = 1;
}

/** How the responses of a call are made and written. */
interface Responses<C extends StreamCall> {
  readonly open: (call: C, info: GrpcCall) => AsyncIterable<object>;
  /** A promise when the next is to wait for it; it rejects with the reason of `signal`. */
  readonly write: (call: C, element: object, signal: AbortSignal) => Promise<void> | undefined;
}

function stream<C extends StreamCall>(
  { open, write }: Responses<C>,
  { toGrpcError, logger, starts }: CallOptions,
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
    const begin = async () => {
      for await (const element of open(call, callInfo(call, abort.signal, peer))) {
        abort.signal.throwIfAborted();
        const written = write(call, element, abort.signal);
        if (written !== undefined) await written;
      }
    };
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

/** Waits while the client reads more slowly, with up to 16 elements that have been written: objects are small, and many at once. */
function writeAhead(call: StreamCall, element: object, signal: AbortSignal): Promise<void> | undefined {
  return call.write(element) ? undefined : raceAbort(new Promise((resolve) => call.once('drain', resolve)), signal);
}

/**
 * Waits until the element has gone out. Elements of duplex calls are parts of streams of bytes: 16 of them would outlive the collections
 * of the young generation, and what outlives them makes V8 collect the whole heap (`youngCollections` of packages/base).
 */
function writeOne(call: ServerDuplexStream<object, object>, element: object, signal: AbortSignal): Promise<void> {
  return raceAbort(new Promise((resolve) => call.write(element, () => resolve())), signal);
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
