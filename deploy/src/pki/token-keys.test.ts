import { expect, test } from 'vitest';
import { planTokenKeys, type TokenKey } from './token-keys.ts';

const DAY_MS = 86_400_000;
const NOW = 20_000 * DAY_MS;
const key = (days: number, retiredDays?: number): TokenKey => ({
  publicKey: `k${days}`,
  madeAt: NOW - days * DAY_MS,
  ...(retiredDays === undefined ? {} : { retiredAt: NOW - retiredDays * DAY_MS }),
});

test('the first key is made, and a key signs for 90 days', () => {
  expect(planTokenKeys([], 'keep', NOW)).toEqual({ rotate: true, keep: [] });
  expect(planTokenKeys([key(89)], 'keep', NOW).rotate).toBe(false);
  expect(planTokenKeys([key(90)], 'keep', NOW)).toEqual({ rotate: true, keep: [key(90)] });
});

test('a key is rotated by command, and goes on verifying until its tokens have ended', () => {
  expect(planTokenKeys([key(1)], 'rotate', NOW)).toEqual({ rotate: true, keep: [key(1)] });
  const [kept, expired] = [key(4000, 3650), key(4000, 3651)];
  expect(planTokenKeys([key(1), kept, expired], 'keep', NOW)).toEqual({ rotate: false, keep: [key(1), kept] });
});

test('keys that have leaked are replaced at once', () => {
  expect(planTokenKeys([key(1), key(50, 1)], 'replace', NOW)).toEqual({ rotate: true, keep: [] });
});
