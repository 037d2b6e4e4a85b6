import { ManualClock } from '@gantry/base/testing';
import { expect, it } from 'vitest';
import { TimerWheel } from './timer-wheel.ts';

/** A clock that counts its timers. */
class CountingClock extends ManualClock {
  timers = 0;

  override setTimer(delayMs: number, callback: () => void): () => void {
    this.timers += 1;
    return super.setTimer(delayMs, callback);
  }
}

it('a thousand loops cost ten timers a second at most', async () => {
  const clock = new CountingClock();
  const wheel = new TimerWheel(clock);
  const stop = new AbortController();
  let turns = 0;
  const loop = async (offsetMs: number) => {
    await wheel.wait(offsetMs, stop.signal);
    while (!stop.signal.aborted) {
      turns += 1;
      await wheel.wait(10_000, stop.signal);
    }
  };
  const loops = Array.from({ length: 1000 }, (_, i) => loop(i * 10).catch(() => undefined));
  await clock.advance(10_000);
  clock.timers = 0;
  turns = 0;
  await clock.advance(60_000);
  expect(turns).toBe(6_000);
  expect(clock.timers).toBeLessThanOrEqual(600);
  stop.abort();
  await Promise.all(loops);
});

it('a wait ends in its tick, never early, and at once when it is aborted', async () => {
  const clock = new ManualClock();
  const wheel = new TimerWheel(clock);
  const ended: string[] = [];
  const wait = (name: string, ms: number, signal = new AbortController().signal) =>
    wheel.wait(ms, signal).then(
      () => ended.push(name),
      () => ended.push(`${name} aborted`),
    );
  const stop = new AbortController();
  void wait('late', 5_000);
  void wait('soon', 250);
  void wait('stopped', 100_000, stop.signal);
  void wait('now', 0);
  await clock.advance(249);
  expect(ended).toEqual(['now']);
  await clock.advance(100);
  expect(ended).toEqual(['now', 'soon']);
  stop.abort();
  await clock.advance(0);
  expect(ended).toEqual(['now', 'soon', 'stopped aborted']);
  await clock.advance(5_000);
  expect(ended).toEqual(['now', 'soon', 'stopped aborted', 'late']);
  await expect(wheel.wait(1, stop.signal)).rejects.toBe(stop.signal.reason);
});
