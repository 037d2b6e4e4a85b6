import type { EventEmitter } from 'node:events';
import type { DescMethod, Message } from '@bufbuild/protobuf';
import {
  type handleBidiStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  type ServerDuplexStream,
  type ServerWritableStream,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { type Activities, raceAbort, youngCollections } from '@gantry/base';
import type { Starts } from '../starts.ts';
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
import { takeStream } from './http2-stream.ts';
import { MessageStream } from './message-stream.ts';
import { type Call, type Peer, type Peers, sourceOf, type StreamCall } from './peers.ts';

/** Of a duplex call, in one message. The bytes of a part may come in several. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

const countBytes = (bytes: number): void => youngCollections.passed(bytes);

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
        out[name] = duplexStream({ handler, method: methodOf(service, name) }, options, stopping, peers);
    }
  }
  return out;
}

function methodOf({ descriptor }: GrpcService, name: string): DescMethod {
  const found = descriptor.methods.find(({ localName }) => localName === name);
  if (found === undefined) throw new TypeError(`${descriptor.typeName} has no method ${name}`);
  return found;
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
  const accept = (call: ServerWritableStream<object, object>): Responses => ({
    open: (info) => handler.handle(call.request as never, info),
    write: (element, signal) => writeAhead(call, element, signal),
    ended: () => undefined,
  });
  return stream(accept, options, stopping, peers);
}

/**
 * Requests and responses are parts of streams of bytes. The library's own streams would hold many of them, which outlive the collections of
 * V8's young generation; and what outlives them makes V8 collect the whole heap (`youngCollections` of packages/base).
 */
function duplexStream(
  { handler, method }: { readonly handler: Extract<GrpcHandler, { kind: 'duplex' }>; readonly method: DescMethod },
  options: CallOptions,
  stopping: AbortSignal,
  peers: Peers,
): handleBidiStreamingCall<object, object> {
  const messages = { reads: method.input, writes: method.output, maxBytes: MAX_MESSAGE_BYTES, onBytes: countBytes };
  const accept = (call: ServerDuplexStream<object, object>): Responses => {
    const stream = new MessageStream(takeStream(call), messages);
    let headers: 'unsent' | 'sent' = 'unsent';
    return {
      // The end of the requests, or of the interest in them, must not end the responses.
      open: (info) => handler.handle(requestsOf(stream) as AsyncIterable<never>, info),
      write: (element, signal) => {
        if (headers === 'unsent') call.sendMetadata(new Metadata());
        headers = 'sent';
        return raceAbort(stream.write(element as Message), signal);
      },
      ended: () => stream.discard(),
    };
  };
  return stream(accept, options, stopping, peers);
}

async function* requestsOf(stream: MessageStream<Message, Message>): AsyncIterable<Message> {
  for (let next = await stream.next(); next !== undefined; next = await stream.next()) yield next;
}

/** How the responses of a call are made and written. */
interface Responses {
  readonly open: (info: GrpcCall) => AsyncIterable<object>;
  /** A promise when the next is to wait for it; it rejects with the reason of `signal`. */
  readonly write: (element: object, signal: AbortSignal) => Promise<void> | undefined;
  /** Called when the call has ended. */
  readonly ended: () => void;
}

/** `accept` is called as soon as a call begins. */
function stream<C extends StreamCall>(
  accept: (call: C) => Responses,
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
    const { open, write, ended } = accept(call);
    const { abort } = followCancel(call);
    const stop = () => abort.abort(new StreamEndedError('the server is stopping'));
    stopping.addEventListener('abort', stop, { once: true });
    const left = peers.follow(peer, abort);
    const begin = async () => {
      for await (const element of open(callInfo(call, abort.signal, peer))) {
        abort.signal.throwIfAborted();
        const written = write(element, abort.signal);
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
        ended();
        left();
        stopping.removeEventListener('abort', stop);
      });
  };
}

/** Waits while the client reads more slowly, with up to 16 elements that have been written: objects are small, and many at once. */
function writeAhead(call: StreamCall, element: object, signal: AbortSignal): Promise<void> | undefined {
  return call.write(element) ? undefined : raceAbort(new Promise((resolve) => call.once('drain', resolve)), signal);
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
