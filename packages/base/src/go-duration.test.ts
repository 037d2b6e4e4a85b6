import { expect, it } from 'vitest';
import { parseGoDuration } from './go-duration.ts';

it.each<[string, number | undefined]>([
  ['0', 0],
  ['0s', 0],
  ['30s', 30_000],
  ['1m30.5s', 90_500],
  ['1h1m1s1ms', 3_661_001],
  ['1500us', 1.5],
  ['2µs', 0.002],
  ['1000000ns', 1],
  ['', undefined],
  ['30', undefined],
  ['30 s', undefined],
  ['s', undefined],
  ['-1s', undefined],
  ['1d', undefined],
  ['1s!', undefined],
])('%j is %s ms', (text, expected) => {
  expect(parseGoDuration(text)).toBe(expected);
});
