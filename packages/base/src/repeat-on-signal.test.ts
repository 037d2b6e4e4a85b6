import { expect, onTestFinished, test } from 'vitest';
import { repeatOnSignal } from './repeat-on-signal.ts';
import { Signal } from './signal.ts';
import { ManualClock } from './testing/index.ts';

type Step = (signal: AbortSignal) => Promise<number>;

/** A loop whose steps are those given, and then ones that wait for a notification. */
function start(...steps: readonly Step[]) {
  const clock = new ManualClock();
  const work = new Signal();
  const stop = new AbortController();
  const failures: unknown[] = [];
  let count = 0;
  onTestFinished(() => stop.abort());
  const options = {
    work,
    backoff: { initialMs: 100, maxMs: 300, jitter: 0 },
    clock,
    random: () => 0,
    onFailure: (error: unknown) => failures.push(error instanceof Error ? error.message : error),
  };
  const step: Step = async (signal) => await (steps[count++] ?? never)(signal);
  const end = repeatOnSignal(options, step, stop.signal);
  return { clock, work, stop, failures, end, count: () => count };
}

const never: Step = () => Promise.resolve(Number.POSITIVE_INFINITY);
const fail: Step = () => Promise.reject(new Error('no'));
/** Lets all that is ready run. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('a step is done at once, and again with each notification', async () => {
  const { clock, work, count } = start();
  await settle();
  expect(count()).toBe(1);
  await clock.advance(3_600_000);
  await settle();
  expect(count()).toBe(1);
  work.notify();
  await settle();
  expect(count()).toBe(2);
});

test('a notification during a step repeats it', async () => {
  const gate = Promise.withResolvers<number>();
  const { work, count } = start(() => gate.promise);
  work.notify();
  work.notify();
  gate.resolve(Number.POSITIVE_INFINITY);
  await settle();
  expect(count()).toBe(2);
});

/** The next step is done when this time has passed, and not before. Returns how many are done then. */
async function stepsAfter(delayMs: number, { clock, count }: ReturnType<typeof start>): Promise<number> {
  await settle();
  const before = count();
  await clock.advance(delayMs - 1);
  await settle();
  expect(count()).toBe(before);
  await clock.advance(1);
  await settle();
  expect(count()).toBeGreaterThan(before);
  return count();
}

test('a step says when it is to be repeated', async () => {
  const loop = start(() => Promise.resolve(1000));
  expect(await stepsAfter(1000, loop)).toBe(2);
});

test('failures are reported and repeated after delays that grow, whatever is notified; a success ends that', async () => {
  const loop = start(fail, fail, fail, fail, never, fail);
  const counts: number[] = [];
  for (const delay of [100, 200, 300, 300]) {
    await settle();
    loop.work.notify();
    counts.push(await stepsAfter(delay, loop));
  }
  // The fifth succeeds, so that the last notification is heard at once.
  expect(counts).toEqual([2, 3, 4, 6]);
  expect(loop.failures).toEqual(['no', 'no', 'no', 'no', 'no']);
  expect(await stepsAfter(100, loop)).toBe(7);
});

test('an abort ends the wait, the delay and the step, and is no failure', async () => {
  const waiting = start();
  await settle();
  waiting.stop.abort();
  await waiting.end;
  const delayed = start(fail);
  await settle();
  delayed.stop.abort();
  await delayed.end;
  expect(delayed.failures).toEqual(['no']);
  const aborted: Step = (signal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
  const working = start(aborted);
  working.stop.abort();
  await working.end;
  expect(working.failures).toEqual([]);
});

test('what the report of a failure throws ends the loop', async () => {
  const options = {
    work: new Signal(),
    backoff: { initialMs: 1, maxMs: 1 },
    clock: new ManualClock(),
    random: () => 0,
  };
  const onFailure = (error: unknown) => {
    throw error;
  };
  const { signal } = new AbortController();
  await expect(repeatOnSignal({ ...options, onFailure }, fail, signal)).rejects.toThrow('no');
});
