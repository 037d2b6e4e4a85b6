import { SpdyError } from './spdy-error.ts';

/** Types of control frames (SPDY/3.1, 2.6). */
export const CONTROL = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

/** The last frame of this direction of a stream. */
export const FIN = 1;
/** In SYN_STREAM: the receiver of the stream sends nothing. */
export const UNIDIRECTIONAL = 2;

export const FRAME_HEADER_BYTES = 8;
const VERSION = 3;

/** One frame, or a part of the data of one. */
export type Frame =
  | { readonly kind: 'control'; readonly type: number; readonly flags: number; readonly payload: Buffer }
  /** `flags` are those of the frame in its last part, and 0 before. */
  | { readonly kind: 'data'; readonly stream: number; readonly flags: number; readonly data: Buffer };

/** A control frame. */
export function controlFrame(type: number, flags: number, payload: Uint8Array): Buffer {
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + payload.length);
  frame.writeUInt16BE(0x8000 | VERSION, 0);
  frame.writeUInt16BE(type, 2);
  frame.writeUInt32BE(((flags << 24) | payload.length) >>> 0, 4);
  frame.set(payload, FRAME_HEADER_BYTES);
  return frame;
}

/** What stands before `length` bytes of data. */
export function dataHeader(stream: number, flags: number, length: number): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  header.writeUInt32BE(stream, 0);
  header.writeUInt32BE(((flags << 24) | length) >>> 0, 4);
  return header;
}

/** Numbers of 32 bits, as most control frames consist of. */
export function numbers(...values: readonly number[]): Buffer {
  const out = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => out.writeUInt32BE(value >>> 0, index * 4));
  return out;
}

/** The number at `offset`, without the first bit, which is reserved. Throws SpdyError for a payload that is too short. */
export function numberAt(payload: Buffer, offset: number): number {
  if (payload.length < offset + 4) throw new SpdyError('a control frame is too short');
  return payload.readUInt32BE(offset) & 0x7fffffff;
}

/** Cuts bytes into frames, however they arrive. */
export class FrameReader {
  readonly #maxControlBytes: number;
  /** What has come of a header, or of a control frame. */
  #pending: Buffer = Buffer.alloc(0);
  /** Of a data frame whose header has been read. */
  #data: { readonly stream: number; readonly flags: number; left: number } | undefined;

  /** A larger control frame is refused. */
  constructor(maxControlBytes: number) {
    this.#maxControlBytes = maxControlBytes;
  }

  /** The frames that are complete with these bytes. Data is passed on as it comes. Throws SpdyError. */
  *read(bytes: Buffer): Generator<Frame> {
    let rest = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
    for (;;) {
      if (this.#data !== undefined) {
        const { stream, flags, left } = this.#data;
        const data = rest.subarray(0, left);
        if (data.length < left) {
          this.#data.left -= data.length;
          this.#pending = Buffer.alloc(0);
          if (data.length > 0) yield { kind: 'data', stream, flags: 0, data };
          return;
        }
        rest = rest.subarray(left);
        this.#data = undefined;
        yield { kind: 'data', stream, flags, data };
        continue;
      }
      const frame = this.#begin(rest);
      if (frame === undefined) {
        // A copy: the rest would keep the whole chunk in memory.
        this.#pending = Buffer.from(rest);
        return;
      }
      rest = rest.subarray(frame.used);
      if (frame.control !== undefined) yield frame.control;
    }
  }

  /** Reads a header, with what follows it in a control frame; undefined while it is incomplete. */
  #begin(rest: Buffer): { readonly used: number; readonly control?: Frame } | undefined {
    if (rest.length < FRAME_HEADER_BYTES) return undefined;
    const flags = rest.readUInt8(4);
    const length = rest.readUIntBE(5, 3);
    const first = rest.readUInt32BE(0);
    if (first < 0x80000000) {
      this.#data = { stream: first, flags, left: length };
      return { used: FRAME_HEADER_BYTES };
    }
    const version = rest.readUInt16BE(0) & 0x7fff;
    if (version !== VERSION) throw new SpdyError(`version ${version} is not supported`);
    if (length > this.#maxControlBytes) throw new SpdyError(`a control frame has ${length} bytes`);
    const used = FRAME_HEADER_BYTES + length;
    if (rest.length < used) return undefined;
    const payload = Buffer.from(rest.subarray(FRAME_HEADER_BYTES, used));
    return { used, control: { kind: 'control', type: rest.readUInt16BE(2), flags, payload } };
  }
}
