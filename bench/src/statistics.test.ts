import { expect, test } from 'vitest';
import { describeMs, quantile } from './statistics.ts';

test('quantiles are values of the sample', () => {
  expect(quantile([3, 1, 2], 0.5)).toBe(2);
  expect(quantile([1, 2, 3, 4], 1)).toBe(4);
  expect(quantile([], 0.5)).toBeNaN();
});

test('a sample is formatted as its median and maximum', () => {
  expect(describeMs([10, 20, 30])).toBe('p50 20 ms, p90 30 ms, max 30 ms of 3');
});
