import { describe, expect, it } from 'vitest';
import { messagesOf } from './demultiplex.ts';
import { withoutRepeats } from './followed-log.ts';
import { textOf } from './log-messages.ts';

const START = Date.parse('2026-01-01T00:00:00Z');

/** A message of the engine, with its time in nanoseconds after the start and its text. */
function message(nanoseconds: number, text: string, output = 1): Buffer {
  const second = new Date(START + Math.floor(nanoseconds / 1e9) * 1000).toISOString().slice(0, 19);
  const content = Buffer.from(`${second}.${String(nanoseconds % 1e9).padStart(9, '0')}Z ${text}`);
  const header = Buffer.alloc(8);
  header.writeUInt8(output, 0);
  header.writeUInt32BE(content.length, 4);
  return Buffer.concat([header, content]);
}

async function* inPieces(bytes: Buffer, size: number): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
}

async function followed(messages: readonly Buffer[], size = 1000) {
  const parts: Uint8Array[] = [];
  const read = withoutRepeats(messagesOf(inPieces(Buffer.concat(messages), size)));
  for await (const part of textOf(read, 'removed')) parts.push(part);
  return Buffer.concat(parts).toString();
}

describe('a log that is followed', () => {
  it.each([1, 7, 1000])(
    'has each message once when the engine reads a file again (pieces of %i bytes)',
    async (size) => {
      const lines = [message(1, 'a\n'), message(2, 'b\n'), message(1_000_000_003, 'c\n')];
      expect(await followed([...lines, ...lines, message(1_000_000_004, 'd\n')], size)).toBe('a\nb\nc\nd\n');
    },
  );

  it.each([1, 7, 1000])(
    'has a line once that the engine repeats at once, when it has read no other of its file (pieces of %i bytes)',
    async (size) => {
      const first = message(2, 'b\n');
      expect(await followed([message(1, 'a\n'), first, first, message(3, 'c\n')], size)).toBe('a\nb\nc\n');
      expect(await followed([first, message(2, 'other\n'), message(2, 'other\n')], size)).toBe('b\nother\nother\n');
    },
  );

  it('has all parts of a long line, which share their time, once', async () => {
    const lines = [message(1, 'a'), message(1, 'b'), message(1, 'c\n'), message(2, 'd'), message(2, 'e\n')];
    expect(await followed([...lines, ...lines, message(2, 'f\n')])).toBe('abc\nde\nf\n');
  });

  it('keeps its outputs apart, whose messages the engine may write out of their order', async () => {
    const lines = [message(5, 'late\n', 2), message(4, 'early\n'), message(6, 'end\n'), message(7, 'error\n', 2)];
    expect(await followed([...lines, ...lines])).toBe('late\nearly\nend\nerror\n');
  });

  it('loses nothing when the clock goes back', async () => {
    const lines = [message(10, 'a\n'), message(20, 'b\n'), message(5, 'c\n'), message(15, 'd\n'), message(20, 'e\n')];
    expect(await followed(lines)).toBe('a\nb\nc\nd\ne\n');
  });

  it('has each message once when the engine repeats tens of thousands', async () => {
    const lines = Array.from({ length: 70_000 }, (_, index) => message(index * 1000, `${index}\n`));
    const text = await followed([...lines, ...lines.slice(100), message(1e9, 'end\n')], 65_536);
    expect(text).toBe(`${lines.map((_, index) => `${index}\n`).join('')}end\n`);
  });
});
