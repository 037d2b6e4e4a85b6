import type { Writable } from 'node:stream';

/** Writes; resolves when more may be written, or the client has gone. */
export async function writeTo(stream: Writable, data: Uint8Array): Promise<void> {
  if (stream.destroyed || stream.write(data)) return;
  await new Promise<void>((resolve) => {
    const settle = (): void => {
      stream.off('drain', settle);
      stream.off('close', settle);
      resolve();
    };
    stream.on('drain', settle);
    stream.on('close', settle);
  });
}
