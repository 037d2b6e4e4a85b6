import { afterEach, expect, it } from 'vitest';
import { type CancelTimer, systemClock } from './clock.ts';

const cancels: CancelTimer[] = [];

afterEach(() => {
  for (const cancel of cancels.splice(0)) cancel();
});

/** Milliseconds further ahead than a timer of the platform can be set. */
it.each([2 ** 31, 30 * 86_400_000, 100 * 365 * 86_400_000, Infinity])(
  'a timer %d ms ahead does not fire before a near one',
  async (delayMs) => {
    let fired = false;
    cancels.push(systemClock.setTimer(delayMs, () => (fired = true)));
    await new Promise<void>((resolve) => cancels.push(systemClock.setTimer(20, resolve)));
    expect(fired).toBe(false);
  },
);
