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
 * (big-endian) and the payload. Chunks may split frames anywhere; a truncated last frame is yielded as far as it goes. Payloads of one
 * output that come in one chunk are one part: each part costs its receivers more than the copy.
 */
export async function* outputParts(chunks: AsyncIterable<Uint8Array>): AsyncIterable<OutputPart> {
  let header = Buffer.alloc(0);
  let remaining = 0;
  let kind: OutputPart['kind'] = 'stdout';
  for await (const piece of chunks) {
    let chunk = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    let gathered: Buffer[] = [];
    let gatheredKind = kind;
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
      if (gatheredKind !== kind && gathered.length > 0) {
        yield { kind: gatheredKind, data: joined(gathered) };
        gathered = [];
      }
      gatheredKind = kind;
      const data = chunk.subarray(0, remaining);
      remaining -= data.length;
      chunk = chunk.subarray(data.length);
      gathered.push(data);
    }
    if (gathered.length > 0) yield { kind: gatheredKind, data: joined(gathered) };
  }
}

function joined(parts: readonly Buffer[]): Uint8Array {
  const [only] = parts;
  return only !== undefined && parts.length === 1 ? only : Buffer.concat(parts);
}
