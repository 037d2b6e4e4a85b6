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

/** Marks the last frame of one direction of a stream. */
export const FIN = 1;
/** In SYN_STREAM: the receiver of the frame sends nothing on the stream. */
export const UNIDIRECTIONAL = 2;

export const FRAME_HEADER_BYTES = 8;
const VERSION = 3;

/** A control frame, or a part of a data frame. */
export type Frame =
  | { readonly kind: 'control'; readonly type: number; readonly flags: number; readonly payload: Buffer }
  /** `flags` are the frame's in its last part, and 0 in other parts. */
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

/** The header of a data frame of `length` bytes. */
export function dataHeader(stream: number, flags: number, length: number): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  header.writeUInt32BE(stream, 0);
  header.writeUInt32BE(((flags << 24) | length) >>> 0, 4);
  return header;
}

/** Encodes 32-bit numbers, of which most control frames consist. */
export function numbers(...values: readonly number[]): Buffer {
  const out = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => out.writeUInt32BE(value >>> 0, index * 4));
  return out;
}

/** The number at `offset` without its first bit, which is reserved. Throws SpdyError if the payload is too short. */
export function numberAt(payload: Buffer, offset: number): number {
  if (payload.length < offset + 4) throw new SpdyError('a control frame is too short');
  return payload.readUInt32BE(offset) & 0x7fffffff;
}

/** Splits the received bytes into frames. */
export class FrameReader {
  readonly #maxControlBytes: number;
  /** The received part of an incomplete header or control frame. */
  #pending: Buffer = Buffer.alloc(0);
  /** The data frame whose header was read. */
  #data: { readonly stream: number; readonly flags: number; left: number } | undefined;

  /** A control frame of more than `maxControlBytes` is an error. */
  constructor(maxControlBytes: number) {
    this.#maxControlBytes = maxControlBytes;
  }

  /** Returns the control frames that these bytes complete, and the data in them. Throws SpdyError. */
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
        // A copy, because a slice would keep the whole chunk in memory.
        this.#pending = Buffer.from(rest);
        return;
      }
      rest = rest.subarray(frame.used);
      if (frame.control !== undefined) yield frame.control;
    }
  }

  /** Reads the header of a data frame, or a whole control frame; undefined while it is incomplete. */
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
