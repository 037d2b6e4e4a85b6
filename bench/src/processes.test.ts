import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { wakeUps } from './processes.ts';

it('a thread that waits and goes on is counted as woken', async () => {
  const before = wakeUps(process.pid);
  await delay(20);
  expect(wakeUps(process.pid)).toBeGreaterThan(before);
});

it('a process that has ended is not woken', () => {
  expect(wakeUps(2 ** 22 + 1)).toBe(0);
});
