const HEADER_BYTES = 8;
const STDERR = 2;

/** A part of a container's output. */
export interface OutputPart {
  readonly kind: 'stdout' | 'stderr';
  readonly data: Uint8Array;
}

/** Yields the payloads of the engine's multiplexed stream in order, of both outputs. */
export async function* demultiplex(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  for await (const { data } of outputParts(chunks)) yield data;
}

/**
 * Yields the parts of the engine's multiplexed stream in order. A frame is a stream number, three zero bytes, the length
 * (big-endian) and the payload. Chunks may split frames anywhere; a truncated last frame is yielded as far as it goes.
 */
export async function* outputParts(chunks: AsyncIterable<Uint8Array>): AsyncIterable<OutputPart> {
  let header = Buffer.alloc(0);
  let remaining = 0;
  let kind: OutputPart['kind'] = 'stdout';
  for await (const piece of chunks) {
    let chunk = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    while (chunk.length > 0) {
      if (remaining === 0) {
        const take = Math.min(HEADER_BYTES - header.length, chunk.length);
        header = Buffer.concat([header, chunk.subarray(0, take)]);
        chunk = chunk.subarray(take);
        if (header.length < HEADER_BYTES) continue;
        kind = header[0] === STDERR ? 'stderr' : 'stdout';
        remaining = header.readUInt32BE(4);
        header = Buffer.alloc(0);
        continue;
      }
      const data = chunk.subarray(0, remaining);
      remaining -= data.length;
      chunk = chunk.subarray(data.length);
      yield { kind, data };
    }
  }
}
