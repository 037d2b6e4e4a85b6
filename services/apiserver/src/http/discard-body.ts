import type { IncomingMessage } from 'node:http';
import { constants } from 'node:http2';
import type { Clock } from '@gantry/base';
import { http2StreamOf } from './client-connection.ts';

/** Maximum size of a discarded body, and the maximum time for it. Beyond them the connection is closed. */
const MAX_DISCARDED = 1024 * 1024;
const DISCARD_MS = 5000;

/**
 * Discards the rest of a request's body, so that the connection can serve the next request. If the client exceeds the limits or stops
 * sending, closes its connection (HTTP/1) or its stream (HTTP/2). Call it before the response ends: after that, Node.js discards bodies
 * itself without a limit of size, and only the time limit applies.
 */
export function discardBody(req: IncomingMessage, clock: Clock): void {
  const stream = http2StreamOf(req);
  if (req.complete || req.destroyed || stream?.endAfterHeaders === true) return;
  let bytes = 0;
  const end = (): void => {
    cancel();
    req.off('data', onData);
    req.off('end', end);
    req.off('close', end);
  };
  const cut = (): void => {
    end();
    if (stream === undefined) req.socket.destroy();
    else stream.close(constants.NGHTTP2_NO_ERROR);
  };
  const onData = (part: Buffer): void => {
    bytes += part.length;
    if (bytes > MAX_DISCARDED) cut();
  };
  const cancel = clock.setTimer(DISCARD_MS, cut);
  req.on('data', onData);
  req.on('end', end);
  req.on('close', end);
  req.resume();
}
