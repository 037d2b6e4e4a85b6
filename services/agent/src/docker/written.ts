import type { Writable } from 'node:stream';

/** Writes data; resolves when it was sent and may be reused. */
export function written(stream: Writable, data: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(data, (error) => (error ? reject(error) : resolve()));
  });
}
