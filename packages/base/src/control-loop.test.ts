import { describe, expect, it } from 'vitest';
import { ControlLoop, type ControlLoopOptions } from './control-loop.ts';
import { ManualClock } from './testing/index.ts';

class BrokenError extends Error {}

type Round = ControlLoopOptions['round'];

const broken: Round = () => Promise.reject(new BrokenError());
const done: Round = () => Promise.resolve();

/** Starts a loop with a manual clock. It runs the given rounds in order and repeats the last one. `rounds` holds their start times. */
function start(options: Partial<ControlLoopOptions>, ...steps: readonly Round[]) {
  const clock = new ManualClock();
  const startMs = clock.monotonicMs();
  const rounds: number[] = [];
  const failures: number[] = [];
  const stop = new AbortController();
  const loop = new ControlLoop({
    intervalMs: 1000,
    retry: { initialMs: 100, maxMs: 300 },
    onError: (_error, count) => failures.push(count),
    clock,
    ...options,
    round: (signal) => {
      rounds.push(clock.monotonicMs() - startMs);
      return (steps[rounds.length - 1] ?? steps.at(-1) ?? done)(signal);
    },
  });
  const end = loop.run(stop.signal);
  return { clock, rounds, failures, loop, stop, end };
}

describe('a control loop', () => {
  it('runs a round at its start and one after each interval', async () => {
    const { clock, rounds } = start({});
    await clock.advance(2500);
    expect(rounds).toEqual([0, 1000, 2000]);
  });

  it('runs the next round when the last one said it is due', async () => {
    const { clock, rounds } = start({}, () => Promise.resolve(40));
    await clock.advance(100);
    expect(rounds).toEqual([0, 40, 80]);
  });

  it('runs a round for a notification only when it has no interval', async () => {
    const { clock, rounds, loop } = start({ intervalMs: undefined });
    await clock.advance(3_600_000);
    expect(rounds).toEqual([0]);
    loop.notify();
    await clock.advance(0);
    expect(rounds).toEqual([0, 3_600_000]);
  });

  it('runs a round when what it subscribed to changes, and no longer once it has ended', async () => {
    const listeners = new Set<() => void>();
    const { clock, rounds, stop, end } = start({
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
    await end;
    expect(listeners.size).toBe(0);
  });

  it('runs one more round for all notifications that come during a round', async () => {
    const held = Promise.withResolvers<void>();
    const { clock, rounds, loop } = start({ intervalMs: Infinity }, () => held.promise);
    await clock.advance(10);
    loop.notify();
    loop.notify();
    expect(rounds).toEqual([0]);
    held.resolve();
    await clock.advance(0);
    expect(rounds).toEqual([0, 10]);
  });

  it('tries again after longer and longer delays, and reports each failure with its count', async () => {
    const { clock, rounds, failures } = start({}, broken, broken, broken, broken, broken, done, broken);
    await clock.advance(2300);
    expect(rounds).toEqual([0, 100, 300, 600, 900, 1200, 2200, 2300]);
    expect(failures).toEqual([1, 2, 3, 4, 5, 1, 2]);
  });

  it('tries again after its interval when it has no other delays', async () => {
    const { clock, rounds } = start({ retry: undefined }, broken);
    await clock.advance(2500);
    expect(rounds).toEqual([0, 1000, 2000]);
  });

  it('has delays that depend on the error', async () => {
    const retry: ControlLoopOptions['retry'] = (error) => ({
      initialMs: error instanceof BrokenError ? 50 : 400,
      maxMs: 400,
    });
    const { clock, rounds } = start({ retry }, broken, () => Promise.reject(new TypeError('another')), done);
    await clock.advance(900);
    expect(rounds).toEqual([0, 50, 450]);
  });

  it('has jitter in its delays when it has random numbers', async () => {
    const { clock, rounds } = start({ retry: { initialMs: 100, maxMs: 100, jitter: 0.5 }, random: () => 1 }, broken);
    await clock.advance(300);
    expect(rounds).toEqual([0, 150, 300]);
  });

  it('tries again at once when it is notified during the delay after a failure', async () => {
    const { clock, rounds, loop } = start({}, broken);
    await clock.advance(30);
    loop.notify();
    await clock.advance(0);
    expect(rounds).toEqual([0, 30]);
  });

  it('waits the whole delay where time alone ends it, and hears the notification after a success', async () => {
    const { clock, rounds, loop } = start({ retryOn: 'time', intervalMs: Infinity }, broken, broken, done);
    await clock.advance(0);
    loop.notify();
    await clock.advance(99);
    expect(rounds).toEqual([0]);
    await clock.advance(1000);
    expect(rounds).toEqual([0, 100, 300, 300]);
  });

  it('counts anew when a round fails that has lasted', async () => {
    const lasting = (ms: number): Round => {
      return () => new Promise((_resolve, reject) => clock.setTimer(ms, () => reject(new BrokenError())));
    };
    const { clock, failures } = start({ lastingMs: 5000 }, broken, broken, lasting(4999), lasting(5000), lasting(10));
    await clock.advance(11_000);
    expect(failures.slice(0, 5)).toEqual([1, 2, 3, 1, 2]);
  });

  it('ends on abort, without reporting what the abort broke', async () => {
    const hanging: Round = (signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new BrokenError()));
      });
    for (const round of [hanging, done]) {
      const { clock, failures, stop, end } = start({}, round);
      await clock.advance(0);
      stop.abort();
      await end;
      expect(failures).toEqual([]);
      expect(clock.nextTimerMs()).toBeUndefined();
    }
  });

  it.each(['time', 'notification'] as const)('ends on abort during a delay that %s ends', async (retryOn) => {
    const { clock, failures, stop, end } = start({ retryOn }, broken);
    await clock.advance(0);
    stop.abort();
    await end;
    expect(failures).toEqual([1]);
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  it('ends with what the report of a failure throws', async () => {
    const onError = (error: unknown) => {
      throw error;
    };
    await expect(start({ onError }, broken).end).rejects.toThrow(BrokenError);
  });
});
