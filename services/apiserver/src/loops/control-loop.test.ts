import { ManualClock } from '@gantry/base/testing';
import { describe, expect, it } from 'vitest';
import { ControlLoop, type ControlLoopOptions } from './control-loop.ts';

class BrokenError extends Error {}

/** A loop under a clock that the test moves; `rounds` holds the times at which rounds began. */
function start(overrides: Partial<ControlLoopOptions> = {}) {
  const clock = new ManualClock();
  const startMs = clock.monotonicMs();
  const rounds: number[] = [];
  const failures: number[] = [];
  const stop = new AbortController();
  const loop = new ControlLoop({
    name: 'test',
    intervalMs: 1000,
    retry: { initialMs: 100, maxMs: 300 },
    onError: (_error, count) => failures.push(count),
    clock,
    ...overrides,
    reconcile: (signal) => {
      rounds.push(clock.monotonicMs() - startMs);
      return overrides.reconcile?.(signal) ?? Promise.resolve();
    },
  });
  const done = loop.run(stop.signal);
  return { clock, rounds, failures, loop, stop, done };
}

describe('a control loop', () => {
  it('runs a round at its start and one after each interval', async () => {
    const { clock, rounds } = start();
    await clock.advance(2500);
    expect(rounds).toEqual([0, 1000, 2000]);
  });

  it('runs the next round when the last one said it is due', async () => {
    const { clock, rounds } = start({ reconcile: () => Promise.resolve(40) });
    await clock.advance(100);
    expect(rounds).toEqual([0, 40, 80]);
  });

  it('runs a round when what it subscribed to changes, and no longer once it has ended', async () => {
    const listeners = new Set<() => void>();
    const { clock, rounds, stop, done } = start({
      intervalMs: Infinity,
      subscribe: (notify) => {
        listeners.add(notify);
        return [() => listeners.delete(notify)];
      },
    });
    await clock.advance(500);
    for (const notify of listeners) notify();
    await clock.advance(0);
    expect(rounds).toEqual([0, 500]);
    stop.abort();
    await done;
    expect(listeners.size).toBe(0);
  });

  it('runs one more round for all signals that come during a round', async () => {
    const held = Promise.withResolvers<void>();
    const { clock, rounds, loop } = start({ intervalMs: Infinity, reconcile: () => held.promise });
    await clock.advance(10);
    loop.notify();
    loop.notify();
    expect(rounds).toEqual([0]);
    held.resolve();
    await clock.advance(0);
    expect(rounds).toEqual([0, 10]);
  });

  it('tries again after longer and longer delays, and reports each failure with its count', async () => {
    let broken = true;
    const { clock, rounds, failures } = start({
      reconcile: () => (broken ? Promise.reject(new BrokenError()) : Promise.resolve()),
    });
    await clock.advance(900);
    expect(rounds).toEqual([0, 100, 300, 600, 900]);
    expect(failures).toEqual([1, 2, 3, 4, 5]);
    broken = false;
    await clock.advance(300);
    broken = true;
    await clock.advance(1000);
    expect(rounds.slice(5)).toEqual([1200, 2200]);
    expect(failures.at(-1)).toBe(1);
  });

  it('waits until it is ready before each round', async () => {
    const ready = Promise.withResolvers<void>();
    const { clock, rounds } = start({ whenReady: () => ready.promise });
    await clock.advance(5000);
    expect(rounds).toEqual([]);
    ready.resolve();
    await clock.advance(0);
    expect(rounds).toEqual([5000]);
  });

  it('asks again every five seconds while it does not lead', async () => {
    let leads = false;
    const { clock, rounds } = start({ leads: () => Promise.resolve(leads) });
    await clock.advance(4000);
    leads = true;
    await clock.advance(2500);
    expect(rounds).toEqual([5000, 6000]);
  });

  it('ends on abort, without reporting what the abort broke', async () => {
    const { clock, failures, stop, done } = start({
      reconcile: (signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new BrokenError()));
        }),
    });
    await clock.advance(0);
    stop.abort();
    await done;
    expect(failures).toEqual([]);
    expect(clock.nextTimerMs()).toBeUndefined();
  });
});
