import { describe, expect, it } from 'vitest';
import { countFrames, countLines } from './event-counters.ts';

/** The same bytes in parts of every size. */
function inParts(bytes: Buffer, size: number, count: (part: Buffer) => number): number {
  let total = 0;
  for (let at = 0; at < bytes.length; at += size) total += count(bytes.subarray(at, at + size));
  return total;
}

describe('events in a stream', () => {
  const frame = (length: number) => {
    const bytes = Buffer.alloc(4 + length, 7);
    bytes.writeUInt32BE(length, 0);
    return bytes;
  };
  const framed = Buffer.concat([3, 1, 300, 70, 5].map(frame));
  const lined = Buffer.from('{"a":1}\n{"b":2}\n{"c":3}\n');

  it.each([1, 2, 3, 4, 5, 7, 100, 1000])('are counted in parts of %i bytes', (size) => {
    expect(inParts(framed, size, countFrames())).toBe(5);
    expect(inParts(lined, size, countLines())).toBe(3);
  });

  it('do not count before they have ended', () => {
    expect(countFrames()(framed.subarray(0, framed.length - 1))).toBe(4);
    expect(countLines()(lined.subarray(0, lined.length - 1))).toBe(2);
  });
});
