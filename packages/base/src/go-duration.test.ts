import { expect, it } from 'vitest';
import { parseGoDuration, parseGoDurationMs } from './go-duration.ts';

it.each<[string, number | undefined]>([
  ['0', 0],
  ['0s', 0],
  ['30s', 30_000],
  ['1m30.5s', 90_500],
  ['1h1m1s1ms', 3_661_001],
  ['1500us', 1.5],
  ['2µs', 0.002],
  ['1000000ns', 1],
  ['3μs', 0.003],
  ['-1s', -1000],
  ['+1.5h', 5_400_000],
  ['.5s', 500],
  ['1.s', 1000],
  ['-0', 0],
  ['', undefined],
  ['30', undefined],
  ['30 s', undefined],
  ['s', undefined],
  ['1d', undefined],
  ['1s!', undefined],
  ['.s', undefined],
  ['--1s', undefined],
  ['1e3s', undefined],
])('%j is %s ms', (text, expected) => {
  expect(parseGoDurationMs(text)).toBe(expected);
});

it('counts nanoseconds in 64 bits', () => {
  expect(parseGoDuration('9223372036854775807ns')).toBe(2n ** 63n - 1n);
  expect(parseGoDuration('9223372036854775808ns')).toBeUndefined();
  expect(parseGoDuration('-9223372036854775808ns')).toBe(-(2n ** 63n));
  expect(parseGoDuration('-9223372036854775809ns')).toBeUndefined();
  expect(parseGoDuration('2562047h47m16.854775807s')).toBe(2n ** 63n - 1n);
  expect(parseGoDuration('99999999999999999999999h')).toBeUndefined();
});
