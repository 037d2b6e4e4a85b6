import { AgentError } from '../runtime/agent-error.ts';

const HEADER_BYTES = 8;
const STDERR = 2;

/** A piece of a container's output. */
export interface OutputPart {
  readonly kind: 'stdout' | 'stderr';
  readonly data: Uint8Array;
}

/** Yields the payloads of both outputs of the engine's multiplexed stream, in order. */
export async function* demultiplex(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  for await (const { data } of outputParts(chunks)) yield data;
}

/**
 * Yields the parts of the engine's multiplexed stream in order. A frame consists of a stream number, three zero bytes, the length
 * (big-endian) and the payload. Chunks may split frames anywhere; a truncated last frame is yielded as far as it goes. Consecutive
 * payloads of one output in one chunk are merged into one part, because a part costs its receivers more than a copy. The merge moves the
 * payloads inside the chunk and overwrites its content.
 */
export async function* outputParts(chunks: AsyncIterable<Uint8Array>): AsyncIterable<OutputPart> {
  let header = Buffer.alloc(0);
  let remaining = 0;
  let kind: OutputPart['kind'] = 'stdout';
  for await (const piece of chunks) {
    const chunk = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    let part: { kind: OutputPart['kind']; from: number; to: number } = { kind, from: 0, to: 0 };
    for (let at = 0; at < chunk.length; ) {
      if (remaining === 0) {
        const end = Math.min(at + HEADER_BYTES - header.length, chunk.length);
        header = Buffer.concat([header, chunk.subarray(at, end)]);
        at = end;
        if (header.length < HEADER_BYTES) continue;
        kind = header[0] === STDERR ? 'stderr' : 'stdout';
        remaining = header.readUInt32BE(4);
        header = Buffer.alloc(0);
        continue;
      }
      const end = Math.min(at + remaining, chunk.length);
      if (part.kind !== kind || part.from === part.to) {
        if (part.from < part.to) yield { kind: part.kind, data: chunk.subarray(part.from, part.to) };
        part = { kind, from: at, to: at };
      }
      chunk.copyWithin(part.to, at, end);
      part.to += end - at;
      remaining -= end - at;
      at = end;
    }
    if (part.from < part.to) yield { kind: part.kind, data: chunk.subarray(part.from, part.to) };
  }
}

/** Far more than the engine writes in one frame: it splits lines of more than 16 KiB. */
const MAX_MESSAGE_BYTES = 1024 * 1024;

/**
 * Yields complete frames of the engine's multiplexed stream, which are messages of a log; all frames that a chunk completes come
 * together. A truncated last frame is dropped.
 */
export async function* messagesOf(chunks: AsyncIterable<Uint8Array>): AsyncIterable<readonly OutputPart[]> {
  let pending: Uint8Array[] = [];
  let size = 0;
  let wanted = HEADER_BYTES;
  for await (const chunk of chunks) {
    pending.push(chunk);
    size += chunk.byteLength;
    if (size < wanted) continue;
    const bytes = joined(pending);
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const messages: OutputPart[] = [];
    let at = 0;
    for (;;) {
      if (view.length - at < HEADER_BYTES) {
        wanted = HEADER_BYTES;
        break;
      }
      const length = view.readUInt32BE(at + 4);
      if (length > MAX_MESSAGE_BYTES) throw new AgentError('Runtime', `a message of a log has ${length} bytes`);
      wanted = HEADER_BYTES + length;
      if (view.length - at < wanted) break;
      const data = view.subarray(at + HEADER_BYTES, at + wanted);
      messages.push({ kind: view[at] === STDERR ? 'stderr' : 'stdout', data });
      at += wanted;
    }
    pending = at === view.length ? [] : [view.subarray(at)];
    size = view.length - at;
    if (messages.length > 0) yield messages;
  }
}

export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  return only !== undefined && parts.length === 1 ? only : Buffer.concat(parts);
}
