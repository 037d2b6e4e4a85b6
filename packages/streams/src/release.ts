import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';

/**
 * Frees the memory of an unused chunk of a socket or WebSocket. V8 would free it in its next collection. But thousands of chunks, which are
 * large outside the heap and small in it, cause too many collections, each of which marks the whole heap. Chunks that share their memory
 * with other chunks are left to V8.
 */
export function release({ buffer, byteOffset, byteLength }: Uint8Array): void {
  // The byte before may be the channel number. Slices of Node.js' pool of small buffers are at most half as long as the pool.
  const isWhole = byteOffset <= 1 && byteOffset + byteLength === buffer.byteLength;
  if (isWhole && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/**
 * Frees the chunks of a WebSocket's connection. The library keeps them until a message is complete. The message is a copy of its chunks, or
 * a part of one chunk; that chunk is left to V8. The library's listener runs first, so the messages of a chunk arrive before the chunk.
 */
export function releaseChunks(socket: WebSocket, transport: Duplex): void {
  let pending: Buffer[] = [];
  /** The memory of the messages since the last chunk. */
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
