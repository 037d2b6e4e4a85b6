import type { Writable } from 'node:stream';

/** Writes; resolves when the data has gone out, which is no longer needed then, or the client has gone. */
export function writeTo(stream: Writable, data: Uint8Array): Promise<void> {
  if (stream.destroyed) return Promise.resolve();
  // A failure means that the client has gone.
  return new Promise((resolve) => stream.write(data, () => resolve()));
}
