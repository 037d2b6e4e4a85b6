import type { EventEmitter } from 'node:events';
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { type Activities, raceAbort } from '@gantry/base';
import type { Starts } from '../starts.ts';
import type { Logger } from '../logger.ts';
import {
  CERTIFICATE_ENDED,
  CLIENT_GONE,
  failureOf,
  logUnexpected,
  PEER_ENDED,
  RELEASED,
  StreamEndedError,
  trailers,
} from './call-failures.ts';
import type { GrpcCall, GrpcError, GrpcHandler, GrpcService } from './grpc-service.ts';
import { type Call, type Peer, type Peers, sourceOf } from './peers.ts';

/** Options of calls that the server provides. */
export interface CallOptions {
  readonly activities: Activities;
  readonly logger: Logger;
  readonly starts: Starts;
  readonly toGrpcError: (error: unknown) => GrpcError;
}

/** What ends the streams that begin now: that the server stops, and that it releases its connections. */
interface Ending {
  readonly stopping: AbortSignal;
  readonly released: AbortSignal;
}

/** The methods of a service as grpc-js calls them. */
export function serveCalls(
  service: GrpcService,
  options: CallOptions,
  ending: () => Ending,
  peers: Peers,
): UntypedServiceImplementation {
  const out: UntypedServiceImplementation = {};
  for (const [name, handler] of Object.entries(service.handlers)) {
    switch (handler.kind) {
      case 'unary':
        out[name] = unary(handler, options, peers);
        break;
      case 'stream':
        out[name] = serverStream(handler, options, ending, peers);
        break;
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
  { toGrpcError, logger, starts }: CallOptions,
  ending: () => Ending,
  peers: Peers,
): handleServerStreamingCall<object, object> {
  return (call) => {
    const peer = peers.of(call);
    if (peer === 'ended') {
      call.emit('error', CERTIFICATE_ENDED);
      return;
    }
    const { abort } = followCancel(call);
    const { stopping, released } = ending();
    const stop = () => abort.abort(new StreamEndedError('the server is stopping'));
    const release = () => abort.abort(RELEASED);
    stopping.addEventListener('abort', stop, { once: true });
    released.addEventListener('abort', release, { once: true });
    const left = peers.follow(peer, abort);
    const begin = async () => {
      for await (const element of handler.handle(call.request as never, callInfo(call, abort.signal, peer))) {
        abort.signal.throwIfAborted();
        // Up to 16 messages are buffered for a slow client; objects are small and many arrive at once.
        if (!call.write(element)) await raceAbort(new Promise((resolve) => call.once('drain', resolve)), abort.signal);
      }
    };
    const turn = starts.next(sourceOf(call, peer));
    (turn === undefined ? begin() : turn.then(begin))
      .then(() => {
        // A watch ends without an error when its signal is aborted, so the error is thrown here.
        if (abort.signal.reason === PEER_ENDED) throw PEER_ENDED;
      })
      .then(
        () => call.end(),
        (error: unknown) => {
          if (call.cancelled) return;
          const isOver = stopping.aborted || abort.signal.reason === RELEASED;
          const why = stopping.aborted ? 'the server is stopping' : RELEASED.message;
          const failure = isOver
            ? { code: status.UNAVAILABLE, message: why, trailers: {} }
            : error === PEER_ENDED
              ? { code: CERTIFICATE_ENDED.code, message: CERTIFICATE_ENDED.details, trailers: {} }
              : failureOf(error, toGrpcError);
          if (!isOver) logUnexpected(logger, failure, error);
          call.emit('error', { code: failure.code, details: failure.message, metadata: trailers(failure) });
        },
      )
      .finally(() => {
        left();
        stopping.removeEventListener('abort', stop);
        released.removeEventListener('abort', release);
      });
  };
}

/**
 * Aborts when the client disconnects. grpc-js emits `cancelled` also after a successful call, so `unfollow` must be called before the call
 * ends.
 */
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
