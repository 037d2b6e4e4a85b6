import { describe, expect, it } from 'vitest';
import { Signal } from './signal.ts';
import { ManualClock } from './testing/index.ts';

/** Whether a promise has resolved, after all callbacks that are ready have run. */
async function isDone(promise: Promise<void>): Promise<boolean> {
  let done = false;
  void promise.then(() => (done = true));
  await new Promise<void>((resolve) => setImmediate(resolve));
  return done;
}

describe('Signal', () => {
  it('ends a wait on notify, and leaves no timer', async () => {
    const clock = new ManualClock();
    const work = new Signal();
    const wait = work.wait(clock, 1000, new AbortController().signal);
    expect(await isDone(wait)).toBe(false);
    work.notify();
    expect(await isDone(wait)).toBe(true);
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  it('keeps a notify that comes while no one waits, and counts several as one', async () => {
    const clock = new ManualClock();
    const { signal } = new AbortController();
    const work = new Signal();
    work.notify();
    work.notify();
    expect(await isDone(work.wait(clock, 1000, signal))).toBe(true);
    expect(await isDone(work.wait(clock, 1000, signal))).toBe(false);
  });

  it('counts a notify that ended a wait as used', async () => {
    const clock = new ManualClock();
    const { signal } = new AbortController();
    const work = new Signal();
    const first = work.wait(clock, 1000, signal);
    work.notify();
    await first;
    expect(await isDone(work.wait(clock, 1000, signal))).toBe(false);
  });

  it('forgets a notify that was cleared', async () => {
    const work = new Signal();
    work.notify();
    work.clear();
    expect(await isDone(work.wait(new ManualClock(), 1000, new AbortController().signal))).toBe(false);
  });

  it('ends a wait when its time has come', async () => {
    const clock = new ManualClock();
    const work = new Signal();
    const wait = work.wait(clock, 1000, new AbortController().signal);
    await clock.advance(999);
    expect(await isDone(wait)).toBe(false);
    await clock.advance(1);
    expect(await isDone(wait)).toBe(true);
  });

  it('ends a wait on abort, at once when aborted before', async () => {
    const clock = new ManualClock();
    const abort = new AbortController();
    const work = new Signal();
    const wait = work.wait(clock, 1000, abort.signal);
    abort.abort();
    expect(await isDone(wait)).toBe(true);
    expect(await isDone(work.wait(clock, 1000, abort.signal))).toBe(true);
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  it.each([
    ['without a timer for Infinity', Infinity, undefined],
    ['as long as the delay is', 1e12, 1e12],
    ['not at all for a time that has passed', -5, 0],
  ])('waits %s', (_title, delayMs, timerMs) => {
    const clock = new ManualClock();
    void new Signal().wait(clock, delayMs, new AbortController().signal);
    expect(clock.nextTimerMs()).toBe(timerMs);
  });
});
