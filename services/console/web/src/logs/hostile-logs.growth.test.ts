import { type GrowingInput, MAX_EXCESS, measureGrowth } from '@gantry/base/testing';
import { expect, it } from 'vitest';
import { segmentsOf } from './escape-codes.ts';
import { LineCutter, LogBuffer } from './log-buffer.ts';

const LINES: Readonly<Record<string, string>> = {
  'beginnings of titles, and an escape that ends none': '\u009d',
  'beginnings of device strings': '\u001bP',
  'sequences without parameters': '\u001b[',
  parameters: '1',
  'changes of colour': '\u001b[31ma\u001b[32mb',
};

const INPUTS: readonly GrowingInput[] = [
  ...Object.entries(LINES).map(([shape, part]) => ({
    name: `a line of a log: ${shape}`,
    largest: 400_000,
    prepare: (size: number) => {
      const line = `\u001b[${part.repeat(size / part.length)}\u001bX\u0001`;
      return () => segmentsOf(line);
    },
  })),
  {
    name: 'a log: lines, each a message',
    largest: 200_000,
    prepare: (size) => {
      const buffer = new LogBuffer(size, size * 100);
      return () => {
        for (let i = 0; i < size; i++) buffer.add('a', ['2026-01-01T00:00:01Z x']);
        return buffer.lines;
      };
    },
  },
  {
    name: 'a log: one line, in small messages',
    largest: 1_000_000,
    prepare: (size) => {
      const cutter = new LineCutter();
      return () => {
        for (let i = 0; i < size; i++) cutter.push('x'.repeat(100));
      };
    },
  },
];

it.each(INPUTS)('$name: linear time', async (input) => {
  const { report, excess } = await measureGrowth(input);
  process.stdout.write(report);
  expect(excess).toBeLessThan(MAX_EXCESS);
});
