import type { IncomingMessage } from 'node:http';
import { StatusError } from '@gantry/objects';

const MAX_BODY = 3 * 1024 * 1024;
const EMPTY = new Uint8Array(0);

/** The limit for the bytes of all bodies that have not ended yet. */
const MAX_ARRIVING = 256 * 1024 * 1024;
const arriving = { bytes: 0 };

/**
 * The whole request body; RequestEntityTooLarge above 3 MB (the rest is discarded, so that the client gets the response), and
 * TooManyRequests while others that have not ended yet take all the room there is.
 */
export function readBody(req: IncomingMessage, signal: AbortSignal): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    const onData = (part: Buffer) => {
      size += part.length;
      arriving.bytes += part.length;
      parts.push(part);
      if (size > MAX_BODY) {
        refuse(new StatusError('RequestEntityTooLarge', `Request entity too large: limit is ${MAX_BODY}`));
      } else if (arriving.bytes > MAX_ARRIVING) {
        refuse(new StatusError('TooManyRequests', 'Too many requests, please try again later.'));
      }
    };
    const refuse = (error: StatusError) => {
      settle();
      parts.length = 0;
      req.resume();
      reject(error);
    };
    const onEnd = () => {
      settle();
      resolve(parts.length === 0 ? EMPTY : parts.length === 1 ? (parts[0] ?? EMPTY) : Buffer.concat(parts));
    };
    const onError = () => {
      settle();
      reject(StatusError.badRequest('the request body could not be read: the connection was lost'));
    };
    const onAbort = () => {
      settle();
      reject(StatusError.timeout('Timeout: the request body did not arrive in time'));
    };
    const settle = () => {
      // Once: an error may still follow.
      arriving.bytes -= size;
      size = 0;
      req.off('data', onData);
      req.off('end', onEnd);
      req.off('aborted', onError);
      req.off('close', onError);
      signal.removeEventListener('abort', onAbort);
    };
    req.on('data', onData);
    req.on('end', onEnd);
    req.on('error', onError);
    req.on('aborted', onError);
    req.on('close', onError);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}
