import { type GrowingInput, MAX_EXCESS, measureGrowth } from '@gantry/base/testing';
import { expect, it } from 'vitest';
import { patternOf } from './patterns.ts';

/** Parts of a pattern that do not end. */
const PARTS: readonly string[] = ['\\p{', '\\P{^', '[^', '[[:a', '\\Q', '(?P<', '(', 'a{1', '\\x{', '|'];

const INPUTS: readonly GrowingInput[] = PARTS.map((part) => ({
  name: `a pattern of ${part}`,
  largest: 200_000,
  prepare: (size: number) => {
    let calls = 0;
    // Each call has another pattern, since compiled ones are remembered.
    return () => patternOf(`${calls++}${part.repeat(size / part.length)}`);
  },
}));

it.each(INPUTS)('$name: linear time', async (input) => {
  const { report, excess } = await measureGrowth(input);
  process.stdout.write(report);
  expect(excess).toBeLessThan(MAX_EXCESS);
});
