import type { Writable } from 'node:stream';

/** Writes. Resolves when the data is sent, and can be reused, or when the client has disconnected. */
export function writeTo(stream: Writable, data: Uint8Array): Promise<void> {
  if (stream.destroyed) return Promise.resolve();
  // A failure means that the client has disconnected.
  return new Promise((resolve) => stream.write(data, () => resolve()));
}
