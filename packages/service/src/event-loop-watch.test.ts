import { setImmediate as nextTurn } from 'node:timers/promises';
import { Activities, type Clock, systemClock } from '@gantry/base';
import { describe, expect, it } from 'vitest';
import { type Logger, silentLogger } from './logger.ts';
import { createMetrics } from './metrics.ts';
import { eventLoopWatch } from './event-loop-watch.ts';

interface Warning {
  readonly stallMs: number;
  readonly cpuMs: number;
  readonly during: readonly string[];
}

/** A simulated event loop. */
function start() {
  const loop = { now: 0, idle: 0, cpu: 0, rounds: 0 };
  let due = (): void => undefined;
  /** The delay of each beat. */
  const beats: number[] = [];
  const clock: Clock = {
    now: () => loop.now,
    monotonicMs: () => loop.now,
    setTimer: (delayMs, fire) => {
      beats.push(delayMs);
      due = fire;
      return () => undefined;
    },
  };
  const activities = new Activities(clock);
  const metrics = createMetrics();
  const warnings: Warning[] = [];
  const logger: Logger = { ...silentLogger, warn: (fields) => warnings.push(fields as Warning) };
  const times = { idleMs: () => loop.idle, cpuMs: () => loop.cpu, rounds: () => loop.rounds };
  const stop = new AbortController();
  const running = eventLoopWatch({ clock, logger, metrics, activities, times }).run(stop.signal);
  /** Advances time: first the loop is idle, then busy, in one round or in many. */
  const pass = async (idleMs: number, busyMs: number, cpuMs = busyMs, rounds = 1): Promise<void> => {
    loop.rounds += rounds;
    loop.idle += idleMs;
    loop.cpu += cpuMs;
    loop.now += idleMs + busyMs;
    due();
    await nextTurn();
  };
  const metric = async (name: string): Promise<number> => {
    const { text } = await metrics.render();
    return Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.split(' ')
        .at(-1),
    );
  };
  const end = async (): Promise<void> => {
    stop.abort();
    due();
    await running;
  };
  return { activities, warnings, beats, pass, metric, [Symbol.asyncDispose]: end };
}

describe('a watched event loop', () => {
  it('reports nothing while it waits, and nothing for short turns', async () => {
    await using watch = start();
    for (let i = 0; i < 10; i++) await watch.pass(250, 0);
    await watch.pass(0, 250);
    expect(watch.warnings).toEqual([]);
    expect(await watch.metric('gantry_event_loop_stalls_total')).toBe(0);
  });

  it('logs a stall over 250 ms with what ran, and counts it', async () => {
    await using watch = start();
    watch.activities.end(watch.activities.begin('request', () => 'GET /before'));
    await watch.pass(250, 0);
    const slow = watch.activities.begin('request', () => 'POST /slow');
    watch.activities.end(watch.activities.begin('reconcile', () => 'deployment a/b'));
    await watch.pass(0, 300, 200);
    watch.activities.end(slow);
    const during = ['reconcile deployment a/b (began 300 ms ago)', 'request POST /slow (began 300 ms ago)'];
    expect(watch.warnings).toEqual([
      { stallMs: 300, cpuMs: 200, during: expect.arrayContaining(during) as readonly string[] },
    ]);
    expect(watch.warnings[0]?.during).toHaveLength(2);
    expect(await watch.metric('gantry_event_loop_stalls_total')).toBe(1);
  });

  it('says the longest stall of the last minutes, and the processor time in it', async () => {
    await using watch = start();
    await watch.pass(0, 400, 300);
    await watch.pass(250, 0);
    expect(await watch.metric('gantry_event_loop_longest_stall_seconds{time="wall"}')).toBe(0.4);
    expect(await watch.metric('gantry_event_loop_longest_stall_seconds{time="cpu"}')).toBe(0.3);
    for (let i = 0; i < 3; i++) await watch.pass(60_000, 0);
    expect(await watch.metric('gantry_event_loop_longest_stall_seconds{time="wall"}')).toBe(0);
  });

  it('does not take many short turns of a loop that was idle for a long one', async () => {
    await using watch = start();
    await watch.pass(100, 200, 150, 100);
    expect(await watch.metric('gantry_event_loop_longest_stall_seconds{time="wall"}')).toBe(0.06);
    expect(await watch.metric('gantry_event_loop_longest_stall_seconds{time="cpu"}')).toBe(0.06);
    await watch.pass(0, 600, 500, 100);
    expect(watch.warnings).toMatchObject([{ stallMs: 600, cpuMs: 500 }]);
  });

  it('looks often from when it is busy until it has been idle for a while', async () => {
    await using watch = start();
    await watch.pass(250, 0);
    await watch.pass(200, 50);
    for (let i = 0; i < 19; i++) await watch.pass(10, 0);
    await watch.pass(5, 5);
    for (let i = 0; i < 20; i++) await watch.pass(10, 0);
    expect(watch.beats).toEqual([250, 250, ...Array<number>(40).fill(10), 250]);
  });

  it('is this process’s own', async () => {
    const logged = Promise.withResolvers<Warning>();
    const logger: Logger = { ...silentLogger, warn: (fields) => logged.resolve(fields as Warning) };
    const activities = new Activities(systemClock);
    const stop = new AbortController();
    const running = eventLoopWatch({ clock: systemClock, logger, metrics: createMetrics(), activities }).run(
      stop.signal,
    );
    const spinning = activities.begin('spin', () => 'for a while');
    const until = systemClock.monotonicMs() + 600;
    while (systemClock.monotonicMs() < until);
    const { stallMs, during } = await logged.promise;
    activities.end(spinning);
    stop.abort();
    await running;
    expect(stallMs).toBeGreaterThanOrEqual(600);
    expect(during.join()).toContain('spin for a while');
  });
});
