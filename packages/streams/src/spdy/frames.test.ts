import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CONTROL, controlFrame, dataHeader, FIN, type Frame, FrameReader, numberAt } from './frames.ts';
import { SpdyError } from './spdy-error.ts';

const byteLengths = { maxLength: 300 };

const frames = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('control' as const),
      type: fc.integer({ min: 1, max: 0xffff }),
      flags: fc.integer({ min: 0, max: 255 }),
      payload: fc.uint8Array(byteLengths).map((bytes) => Buffer.from(bytes)),
    }),
    fc.record({
      kind: fc.constant('data' as const),
      stream: fc.integer({ min: 0, max: 0x7fffffff }),
      flags: fc.constantFrom(0, FIN),
      data: fc.uint8Array(byteLengths).map((bytes) => Buffer.from(bytes)),
    }),
  ),
  { maxLength: 12 },
);

function encoded(frame: Frame): Buffer {
  if (frame.kind === 'control') return controlFrame(frame.type, frame.flags, frame.payload);
  return Buffer.concat([dataHeader(frame.stream, frame.flags, frame.data.length), frame.data]);
}

/** Cuts bytes at places that the test chooses. */
function* cut(bytes: Buffer, sizes: readonly number[]): Generator<Buffer> {
  let at = 0;
  for (const size of sizes) {
    yield bytes.subarray(at, at + size);
    at += size;
  }
  yield bytes.subarray(at);
}

/** The parts of one data frame put together again. */
function joined(parts: readonly Frame[], ends: readonly number[]): Frame[] {
  const out: Frame[] = [];
  let lengths = [...ends];
  let held: Extract<Frame, { kind: 'data' }> | undefined;
  for (const part of parts) {
    if (part.kind === 'control') {
      out.push(part);
      continue;
    }
    held = { ...part, data: Buffer.concat([held?.data ?? Buffer.alloc(0), part.data]) };
    if (held.data.length < (lengths[0] ?? 0)) continue;
    lengths = lengths.slice(1);
    out.push(held);
    held = undefined;
  }
  return out;
}

describe('a reader of frames', () => {
  it('gives the frames that were sent, wherever the bytes are cut', () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 60 });
    fc.assert(
      fc.property(frames, sizes, (sent, cuts) => {
        const reader = new FrameReader(300);
        const bytes = Buffer.concat(sent.map(encoded));
        const read = [...cut(bytes, cuts)].flatMap((part) => [...reader.read(part)]);
        const lengths = sent.flatMap((frame) => (frame.kind === 'data' ? [frame.data.length] : []));
        expect(joined(read, lengths)).toEqual(sent);
      }),
    );
  });

  it('reads anything, or fails with an error of the protocol', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 20 }), (chunks) => {
        const reader = new FrameReader(64);
        try {
          for (const chunk of chunks) for (const frame of reader.read(Buffer.from(chunk))) expect(frame).toBeDefined();
        } catch (error) {
          expect(error).toBeInstanceOf(SpdyError);
        }
      }),
    );
  });

  it.each([
    [
      'a control frame above the limit, by its header alone',
      controlFrame(CONTROL.ping, 0, Buffer.alloc(17)).subarray(0, 8),
      /17 bytes/,
    ],
    ['another version', Buffer.from([0x80, 2, 0, 1, 0, 0, 0, 0]), /version 2/],
  ])('refuses %s', (_, bytes, message) => {
    expect(() => [...new FrameReader(16).read(bytes)]).toThrow(message);
  });

  it('passes the data of a frame on before the frame is complete', () => {
    const reader = new FrameReader(16);
    const [part] = reader.read(Buffer.concat([dataHeader(1, FIN, 1 << 20), Buffer.from('first')]));
    expect(part).toEqual({ kind: 'data', stream: 1, flags: 0, data: Buffer.from('first') });
  });

  it('reads no number beyond the end of a frame', () => {
    expect(() => numberAt(Buffer.alloc(3), 0)).toThrow(SpdyError);
  });
});
