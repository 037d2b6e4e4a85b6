import { afterEach, expect, it } from 'vitest';
import { ManualClock } from './testing/index.ts';
import { type CancelTimer, formatDay, parseDay, setPatientTimer, systemClock } from './clock.ts';

const cancels: CancelTimer[] = [];

afterEach(() => {
  for (const cancel of cancels.splice(0)) cancel();
});

/** Delays longer than the platform's timers support. */
it.each([2 ** 31, 30 * 86_400_000, 100 * 365 * 86_400_000, Infinity])(
  'a timer %d ms ahead does not fire before a near one',
  async (delayMs) => {
    let fired = false;
    cancels.push(systemClock.setTimer(delayMs, () => (fired = true)));
    await new Promise<void>((resolve) => cancels.push(systemClock.setTimer(20, resolve)));
    expect(fired).toBe(false);
  },
);

it('a patient timer does not fire because this process did not run', async () => {
  let fired = false;
  cancels.push(setPatientTimer(systemClock, 200, () => (fired = true)));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
  await new Promise<void>((resolve) => cancels.push(systemClock.setTimer(0, resolve)));
  expect(fired).toBe(false);
});

it('a patient timer fires after its delay, unless it is cancelled', async () => {
  const clock = new ManualClock();
  const fired: string[] = [];
  setPatientTimer(clock, 800, () => fired.push('one'));
  const cancel = setPatientTimer(clock, 800, () => fired.push('cancelled'));
  await clock.advance(700);
  cancel();
  await clock.advance(99);
  expect(fired).toEqual([]);
  await clock.advance(1);
  await clock.advance(10_000);
  expect(fired).toEqual(['one']);
});

it('writes and reads days in UTC, and takes no other text for a day', () => {
  const noon = Date.parse('2024-02-29T12:00:00Z');
  expect(formatDay(noon)).toBe('2024-02-29');
  expect(parseDay('2024-02-29')).toBe(noon - 12 * 3_600_000);
  for (const text of ['', '2023-02-29', '2024-13-01', '2024-2-29', '2024-02-29T12:00:00Z', ' 2024-02-29', 'today']) {
    expect(parseDay(text), text).toBeUndefined();
  }
});
