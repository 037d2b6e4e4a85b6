import { finished } from 'node:stream/promises';
import type { Writable } from 'node:stream';

/** Ends a stream after these bytes; resolves when they have gone out, or the client has gone. */
export async function finishWriting(stream: Writable | undefined, bytes: Uint8Array = Buffer.alloc(0)): Promise<void> {
  if (stream === undefined || stream.destroyed) return;
  stream.end(bytes);
  try {
    await finished(stream, { readable: false });
  } catch {
    // The client has gone, and cannot be told anything any more.
  }
}
