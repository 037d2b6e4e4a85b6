import { expect, test } from 'vitest';
import { formatProgress } from './format-progress.ts';

test('the time left follows from the tests that this start has run', () => {
  const counts = { done: 110, total: 446, failed: 3 };
  expect(formatProgress(counts, 10, 60_000)).toBe('110 of 446 done, 3 failed, about 34 min left');
  expect(formatProgress({ done: 1, total: 400, failed: 0 }, 1, 60_000)).toContain('about 6 h 39 min left');
  expect(formatProgress({ done: 0, total: 400, failed: 0 }, 0, 60_000)).toBe('0 of 400 done, 0 failed');
  expect(formatProgress({ done: 4, total: 4, failed: 0 }, 4, 60_000)).toBe('4 of 4 done, 0 failed');
});
