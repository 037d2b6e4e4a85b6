import { describe, expect, it } from 'vitest';
import type { OutputPart } from './demultiplex.ts';
import { afterLines, findTail, type Messages, PIECE_BYTES, terminalMessages, textOf } from './log-messages.ts';

const stamp = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000000001Z `;

/** The messages of one line, as the engine divides it. */
function lineOf(second: number, text: string, kind: OutputPart['kind'] = 'stdout'): readonly OutputPart[] {
  const parts: OutputPart[] = [];
  let from = 0;
  for (; from + PIECE_BYTES <= text.length; from += PIECE_BYTES) {
    parts.push({ kind, data: Buffer.from(stamp(second) + text.slice(from, from + PIECE_BYTES)) });
  }
  return [...parts, { kind, data: Buffer.from(`${stamp(second)}${text.slice(from)}\n`) }];
}

async function* grouped(messages: readonly OutputPart[], size = 2): Messages {
  for (let at = 0; at < messages.length; at += size) yield await Promise.resolve(messages.slice(at, at + size));
}

async function text(messages: Messages, times: 'kept' | 'removed' = 'kept'): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of textOf(messages, times)) parts.push(part);
  return Buffer.concat(parts).toString();
}

const LONG = 'x'.repeat(40_000);
const EXACT = 'y'.repeat(PIECE_BYTES);
const LOG = [...lineOf(1, 'first'), ...lineOf(2, LONG), ...lineOf(3, EXACT), ...lineOf(4, ''), ...lineOf(5, 'last')];
const LINES = [
  `${stamp(1)}first\n`,
  `${stamp(2)}${LONG}\n`,
  `${stamp(3)}${EXACT}\n`,
  `${stamp(4)}\n`,
  `${stamp(5)}last\n`,
];

describe('the lines of a log', () => {
  it.each([1, 2, 100])(
    'have one time each, however many messages the engine makes of them (%i together)',
    async (size) => {
      expect(await text(grouped(LOG, size))).toBe(LINES.join(''));
      expect(await text(grouped(LOG, size), 'removed')).toBe(`first\n${LONG}\n${EXACT}\n\nlast\n`);
    },
  );

  it('have no time where one output begins inside a line of the other, as in the kubelet', async () => {
    const [first, second, third] = lineOf(1, LONG);
    const [other] = lineOf(2, 'error', 'stderr');
    const found = await text(grouped([first, other, second, third].filter((one) => one !== undefined)));
    expect(found.replaceAll(/x+/g, 'x')).toBe(`${stamp(1)}xerror\n${stamp(1)}x\n`);
  });

  it.each([1, 7, 31, 1_000, 100_000])('of a terminal are found in pieces of %i bytes', async (size) => {
    const bytes = Buffer.concat(LOG.map(({ data }) => data));
    const pieces = async function* () {
      for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
    };
    expect(await text(terminalMessages(pieces()))).toBe(LINES.join(''));
    const cut = async function* () {
      yield await Promise.resolve(bytes.subarray(0, -3));
    };
    expect(await text(terminalMessages(cut()))).toBe(LINES.join('').slice(0, -3));
  });
});

describe('the last lines of a log', () => {
  const tailOf = async (log: readonly OutputPart[], lines: number) => {
    const asked: number[] = [];
    const read = (messages: number) => {
      asked.push(messages);
      return grouped(log.slice(-messages));
    };
    const { messages, skippedEnds, kept } = await findTail(lines, read);
    const found = await text(afterLines(grouped(log.slice(-messages)), skippedEnds));
    expect(kept === undefined ? found : await text(afterLines(kept, skippedEnds))).toBe(found);
    return { found, asked, kept };
  };

  it.each([1, 2, 3, 4, 5, 6, 100])('are whole lines: %i', async (lines) => {
    expect((await tailOf(LOG, lines)).found).toBe(LINES.slice(-lines).join(''));
  });

  it('may be one that has not ended yet', async () => {
    const open = [...LOG, ...lineOf(6, LONG).slice(0, 2)];
    expect((await tailOf(open, 1)).found).toBe(`${stamp(6)}${'x'.repeat(2 * PIECE_BYTES)}`);
    expect((await tailOf(open, 2)).found.startsWith(`${stamp(5)}last\n${stamp(6)}x`)).toBe(true);
  });

  it('are asked of the engine once where no line is long', async () => {
    const short = Array.from({ length: 50 }, (_, second) => lineOf(second, `${second}`)).flat();
    expect((await tailOf(short, 10)).asked).toEqual([11]);
    expect((await tailOf(short, 50)).asked).toEqual([51]);
    expect((await tailOf([], 5)).found).toBe('');
  });

  it('are found in few steps behind a line of many messages, which is not kept in memory', async () => {
    const { found, asked, kept } = await tailOf([...LOG, ...lineOf(6, 'z'.repeat(10_000_000))], 1);
    expect(found).toHaveLength(10_000_000 + stamp(6).length + 1);
    expect(asked.length).toBeLessThan(12);
    expect(kept).toBeUndefined();
  });
});
