import { setImmediate as nextRound } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Starts } from './starts.ts';

describe('starts', () => {
  /** A clock that only work moves, and work that takes `ms` after a few microtasks, as a request does. */
  function setUp(ms: number) {
    let now = 0;
    const begun: number[] = [];
    const starts = new Starts({ monotonicMs: () => now });
    const begin = (n: number) => () => {
      void Promise.resolve()
        .then(() => undefined)
        .then(() => {
          now += ms;
          begun.push(n);
        });
    };
    return { starts, begun, begin, now: () => now };
  }

  it('begin at once what comes alone', () => {
    const { starts } = setUp(1);
    let begun = 0;
    starts.run(() => void begun++);
    expect(begun).toBe(1);
    expect(starts.next()).toBeUndefined();
  });

  it('begin in each round what fits it, in the order in which it came', async () => {
    const { starts, begun, begin, now } = setUp(4);
    // Each in a callback of its own, as requests are read.
    for (let n = 0; n < 40; n++) {
      starts.run(begin(n));
      await Promise.resolve()
        .then(() => undefined)
        .then(() => undefined);
    }
    const rounds: number[] = [now()];
    let seen = now();
    while (begun.length < 40) {
      await nextRound();
      rounds.push(now() - seen);
      seen = now();
    }
    expect(Math.max(...rounds)).toBeLessThanOrEqual(2 * 12);
    expect(begun).toEqual(Array.from({ length: 40 }, (_, n) => n));
  });

  it('let what comes later wait behind what waits', async () => {
    const { starts, begun, begin } = setUp(20);
    starts.run(begin(0));
    await Promise.resolve()
      .then(() => undefined)
      .then(() => undefined);
    starts.run(begin(1));
    const later = starts.next();
    expect(begun).toEqual([0]);
    expect(later).toBeInstanceOf(Promise);
    await later;
    expect(begun).toEqual([0, 1]);
  });

  it('let what comes in a new round wait behind what waits', async () => {
    const { starts, begun, begin } = setUp(20);
    starts.run(begin(0));
    await Promise.resolve()
      .then(() => undefined)
      .then(() => undefined);
    for (let n = 1; n < 5; n++) starts.run(begin(n));
    await nextRound();
    await nextRound();
    expect(begun.length).toBeLessThan(5);
    const later = starts.next();
    expect(later).toBeInstanceOf(Promise);
    starts.run(begin(5));
    while (begun.length < 6) await nextRound();
    expect(begun).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('begin at once again when the crowd has gone', async () => {
    const { starts, begin, begun } = setUp(20);
    for (let n = 0; n < 3; n++) starts.run(begin(n));
    while (begun.length < 3) await nextRound();
    await nextRound();
    await nextRound();
    expect(starts.next()).toBeUndefined();
  });
});
