import { expect, it } from 'vitest';
import { FailedPods } from './failed-pods.ts';

const MINUTE_MS = 60_000;

it('doubles the delay from 1 second to 15 minutes', () => {
  const failed = new FailedPods();
  let now = 0;
  const delays: number[] = [];
  for (let i = 0; i < 12; i++) {
    expect(failed.waitsUntil('a', now)).toBeUndefined();
    failed.note('a', now);
    const until = failed.waitsUntil('a', now) ?? now;
    delays.push(until - now);
    now = until;
  }
  expect(delays.slice(0, 4)).toEqual([1000, 2000, 4000, 8000]);
  expect(delays.at(-1)).toBe(15 * MINUTE_MS);
});

it('is apart for each key, and forgets what was long ago', () => {
  const failed = new FailedPods();
  failed.note('a', 0);
  failed.note('a', 1000);
  expect(failed.waitsUntil('b', 1000)).toBeUndefined();
  const later = 31 * MINUTE_MS;
  failed.note('b', later);
  failed.note('a', later);
  expect(failed.waitsUntil('a', later)).toBe(later + 1000);
  failed.reset();
  expect(failed.waitsUntil('a', later)).toBeUndefined();
});
