import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';

/**
 * Frees the memory of a chunk that nobody needs any more, of a socket or a WebSocket. V8 would free it with its next collection, for which
 * chunks that pass by the thousand give it reason far too often: they hold much outside the heap and next to nothing in it, and it marks the
 * whole heap. A chunk that shares its memory with others is left to V8.
 */
export function release({ buffer, byteOffset, byteLength }: Uint8Array): void {
  // The byte before may be the number of a channel. Slices of Node.js' pool of small buffers are at most half of it.
  const isWhole = byteOffset <= 1 && byteOffset + byteLength === buffer.byteLength;
  if (isWhole && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/**
 * Frees the chunks of a WebSocket's connection. The library keeps them until a message is complete, which is a copy of them, or a part of one
 * chunk: such a chunk is left to V8. Its own listener comes first, so the messages of a chunk come before the chunk.
 */
export function releaseChunks(socket: WebSocket, transport: Duplex): void {
  let pending: Buffer[] = [];
  /** The memory of what the library has given since the last chunk. */
  const given = new Set<ArrayBufferLike>();
  const give = (data: Buffer): void => void given.add(data.buffer);
  socket.on('ping', give);
  socket.on('pong', give);
  socket.on('message', (data: Buffer) => {
    give(data);
    for (const chunk of pending) if (chunk.buffer !== data.buffer) release(chunk);
    pending = [];
  });
  transport.on('data', (chunk: Buffer) => {
    if (!given.has(chunk.buffer)) pending.push(chunk);
    given.clear();
  });
}
