import type { ServerHttp2Stream } from 'node:http2';

/** What may be on its way in a call. With the 64 KiB of HTTP/2 a stream of bytes waits for its receiver most of the time. */
export const WINDOW_BYTES = 256 * 1024;

/** The HTTP/2 stream of a call, from grpc-js' private fields; undefined when another version stores it elsewhere. */
export function http2StreamOf(call: object): ServerHttp2Stream | undefined {
  const inner = call as { readonly call?: { readonly stream?: ServerHttp2Stream } };
  return inner.call?.stream;
}

/**
 * The HTTP/2 stream of a call that has just begun. grpc-js still ends the call, and reports a client that has gone. It reads by a listener of
 * the stream, which it has paused until the first message is asked for: without that listener, and when none is asked for, it reads nothing.
 */
export function takeStream(call: object): ServerHttp2Stream {
  const stream = http2StreamOf(call);
  if (stream === undefined) throw new TypeError('grpc-js keeps the stream of a call elsewhere');
  stream.removeAllListeners('data');
  stream.session?.setLocalWindowSize(WINDOW_BYTES);
  return stream;
}
