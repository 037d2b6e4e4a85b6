import { ManualClock } from '@gantry/base/testing';
import { describe, expect, it } from 'vitest';
import { Slots } from './slots.ts';

describe('slots', () => {
  it('let as many pieces of work run as there are, the others in order', async () => {
    const slots = new Slots(1);
    const { signal } = new AbortController();
    const begun: string[] = [];
    const began = Promise.withResolvers<void>();
    const first = Promise.withResolvers<void>();
    const work = async () => {
      begun.push('a');
      began.resolve();
      await first.promise;
    };
    const all = Promise.all([
      slots.use(work, signal),
      slots.use(async () => void begun.push('b'), signal),
      slots.use(async () => void begun.push('c'), signal),
    ]);
    await began.promise;
    expect(begun).toEqual(['a']);
    first.resolve();
    await all;
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  it('do not begin what was aborted while it waited, and pass its turn on', async () => {
    const slots = new Slots(1);
    const abort = new AbortController();
    const { signal } = new AbortController();
    const first = Promise.withResolvers<void>();
    const begun: string[] = [];
    const running = slots.use(() => first.promise, signal);
    const aborted = slots.use(async () => void begun.push('aborted'), abort.signal);
    const next = slots.use(async () => void begun.push('next'), signal);
    abort.abort('pod deleted');
    first.resolve();
    await expect(aborted).rejects.toBe('pod deleted');
    await Promise.all([running, next]);
    expect(begun).toEqual(['next']);
  });

  it('let go at once what is aborted while it waits', async () => {
    const slots = new Slots(1);
    const abort = new AbortController();
    const first = Promise.withResolvers<void>();
    const running = slots.use(() => first.promise, new AbortController().signal);
    const ended: string[] = [];
    const note = (what: unknown) => void ended.push(String(what));
    const waiting = slots.use(async () => note('begun'), abort.signal).catch(note);
    abort.abort('pod deleted');
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(ended).toEqual(['pod deleted']);
    first.resolve();
    await Promise.all([running, waiting]);
    await slots.use(async () => note('next'), new AbortController().signal);
    expect(ended).toEqual(['pod deleted', 'next']);
  });

  it('do not begin what is aborted just when its turn has come', async () => {
    const slots = new Slots(1);
    const abort = new AbortController();
    const first = async () => {
      // The abort comes after the turn was given and before the work starts.
      queueMicrotask(() => queueMicrotask(() => abort.abort('pod deleted')));
    };
    const begun: string[] = [];
    const running = slots.use(first, new AbortController().signal);
    const aborted = slots.use(async () => void begun.push('aborted'), abort.signal);
    await expect(aborted).rejects.toBe('pod deleted');
    await running;
    await slots.use(async () => void begun.push('next'), new AbortController().signal);
    expect(begun).toEqual(['next']);
  });

  /** Runs `count` jobs of two pieces each, one piece at a time, like the starts of pods. Returns the pieces in order. */
  const runJobs = async (count: number, turn: 'begin' | 'finish'): Promise<readonly string[]> => {
    const slots = new Slots(1);
    const { signal } = new AbortController();
    const done: string[] = [];
    const piece = (name: string) => () => Promise.resolve(void done.push(name));
    const job = async (name: string) => {
      await slots.use(piece(`begin ${name}`), signal);
      await slots.use(piece(`finish ${name}`), signal, turn);
    };
    await Promise.all(Array.from({ length: count }, (_, index) => job(String(index))));
    return done;
  };

  it('let work be finished before other work begins: half of the jobs are done at half of the time', async () => {
    const finished = (pieces: readonly string[]) => pieces.slice(0, 6).filter((name) => name.startsWith('finish'));
    expect(finished(await runJobs(6, 'begin'))).toEqual([]);
    expect(finished(await runJobs(6, 'finish')).length).toBeGreaterThanOrEqual(2);
  });

  it('are given back by work that takes too long, once', async () => {
    const clock = new ManualClock();
    const slots = new Slots(1, { clock, maxHeldMs: 1_000 });
    const { signal } = new AbortController();
    const slow = Promise.withResolvers<void>();
    const next = Promise.withResolvers<void>();
    const begun: string[] = [];
    const wait = (name: string, until: Promise<void>) => async () => {
      begun.push(name);
      await until;
    };
    const all = [slots.use(wait('slow', slow.promise), signal), slots.use(wait('next', next.promise), signal)];
    await clock.advance(999);
    expect(begun).toEqual(['slow']);
    await clock.advance(1);
    expect(begun).toEqual(['slow', 'next']);
    all.push(slots.use(wait('last', Promise.resolve()), signal));
    slow.resolve();
    await all[0];
    await clock.advance(1);
    expect(begun).toEqual(['slow', 'next']);
    next.resolve();
    await Promise.all(all);
    expect(begun).toEqual(['slow', 'next', 'last']);
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  it('let work begin though there is always some to finish', async () => {
    const slots = new Slots(1);
    const { signal } = new AbortController();
    const order: string[] = [];
    const first = Promise.withResolvers<void>();
    const all = [slots.use(() => first.promise, signal)];
    for (let i = 0; i < 20; i++) all.push(slots.use(async () => void order.push('finish'), signal, 'finish'));
    all.push(slots.use(async () => void order.push('begin'), signal));
    first.resolve();
    await Promise.all(all);
    expect(order.indexOf('begin')).toBe(8);
  });
});
