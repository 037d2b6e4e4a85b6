const HEADER_BYTES = 8;

/**
 * Yields the payloads of the engine's multiplexed stream in order. A frame is a stream number, three zero bytes, the length
 * (big-endian) and the payload. Chunks may split frames anywhere; a truncated last frame is yielded as far as it goes.
 */
export async function* demultiplex(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let header = Buffer.alloc(0);
  let remaining = 0;
  for await (const piece of chunks) {
    let chunk = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    while (chunk.length > 0) {
      if (remaining === 0) {
        const take = Math.min(HEADER_BYTES - header.length, chunk.length);
        header = Buffer.concat([header, chunk.subarray(0, take)]);
        chunk = chunk.subarray(take);
        if (header.length < HEADER_BYTES) continue;
        remaining = header.readUInt32BE(4);
        header = Buffer.alloc(0);
        continue;
      }
      const payload = chunk.subarray(0, remaining);
      remaining -= payload.length;
      chunk = chunk.subarray(payload.length);
      yield payload;
    }
  }
}
