import type { Writable } from 'node:stream';

/** Writes; resolves when the data has gone out, which is no longer needed then. */
export function written(stream: Writable, data: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(data, (error) => (error ? reject(error) : resolve()));
  });
}
