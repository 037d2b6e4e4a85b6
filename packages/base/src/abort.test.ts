import { getEventListeners } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { anySignal, DeadlineError, raceAbort, withDeadline } from './abort.ts';
import { pause, sleep } from './clock.ts';
import { ManualClock } from './testing/index.ts';

/** Collects unhandled rejections until the test ends. */
function unhandledRejections(): unknown[] {
  const seen: unknown[] = [];
  const note = (reason: unknown) => seen.push(reason);
  process.on('unhandledRejection', note);
  onTestFinished(() => void process.off('unhandledRejection', note));
  return seen;
}

async function nextTurns(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

describe('raceAbort', () => {
  it('settles as the work does', async () => {
    const { signal } = new AbortController();
    await expect(raceAbort(Promise.resolve(1), signal)).resolves.toBe(1);
    await expect(raceAbort(Promise.reject(new DeadlineError('late')), signal)).rejects.toThrow('late');
  });

  it('has left the signal when its caller goes on', async () => {
    const { signal } = new AbortController();
    await raceAbort(Promise.resolve(), signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    try {
      await raceAbort(Promise.reject(new DeadlineError('late')), signal);
    } catch {
      expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    }
    expect.assertions(2);
  });

  it('rejects with the reason while the work continues', async () => {
    const abort = new AbortController();
    const race = raceAbort(new Promise(() => {}), abort.signal);
    abort.abort('reason');
    await expect(race).rejects.toBe('reason');
  });

  it.each(['before', 'after'] as const)(
    'leaves no unhandled rejection of work aborted %s it was given',
    async (when) => {
      const unhandled = unhandledRejections();
      const abort = new AbortController();
      const work = Promise.withResolvers<void>();
      if (when === 'before') abort.abort('reason');
      const race = raceAbort(work.promise, abort.signal);
      if (when === 'after') abort.abort('reason');
      await expect(race).rejects.toBe('reason');
      work.reject(new DeadlineError('later failure'));
      await nextTurns();
      expect(unhandled).toEqual([]);
    },
  );
});

describe('withDeadline', () => {
  it('is aborted at its deadline, and never after it is disposed of', async () => {
    const clock = new ManualClock();
    const parent = new AbortController();
    const due = withDeadline(clock, parent.signal, 100);
    const disposed = withDeadline(clock, parent.signal, 100);
    disposed[Symbol.dispose]();
    await clock.advance(100);
    expect(due.reason).toBeInstanceOf(DeadlineError);
    parent.abort();
    expect(disposed.aborted).toBe(false);
  });
});

describe('waiting', () => {
  it('ends with the time: a sleep and a pause resolve', async () => {
    const clock = new ManualClock();
    const { signal } = new AbortController();
    const both = Promise.all([sleep(clock, 50, signal), pause(clock, 50, signal)]);
    expect(clock.nextTimerMs()).toBe(50);
    await clock.advance(50);
    await both;
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  it('ends with the signal: a sleep rejects, a pause resolves, and no timer is left', async () => {
    const clock = new ManualClock();
    const abort = new AbortController();
    const slept = sleep(clock, 50, abort.signal);
    const paused = pause(clock, 50, abort.signal);
    abort.abort('reason');
    await expect(slept).rejects.toBe('reason');
    await paused;
    await pause(clock, 50, abort.signal);
    expect(clock.nextTimerMs()).toBeUndefined();
  });
});

describe('anySignal', () => {
  it('is aborted with the first of its parents, for the reason of that one', () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const either = anySignal(first.signal, second.signal);
    second.abort('second');
    first.abort('first');
    expect(either.reason).toBe('second');
    expect(anySignal(new AbortController().signal, second.signal).reason).toBe('second');
  });

  it('leaves no listener on its parents once it is aborted or disposed of', () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const listeners = () => [first, second].map(({ signal }) => getEventListeners(signal, 'abort').length);
    {
      using either = anySignal(first.signal, second.signal);
      either.addEventListener('abort', () => undefined);
      expect(listeners()).toEqual([1, 1]);
    }
    expect(listeners()).toEqual([0, 0]);
    anySignal(first.signal, second.signal);
    second.abort();
    expect(listeners()).toEqual([0, 0]);
    anySignal(first.signal, second.signal);
    expect(listeners()).toEqual([0, 0]);
  });
});
