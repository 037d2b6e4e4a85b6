import { setImmediate as nextRound } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { CrowdError, type Source, Starts, type WaitingLimits } from './starts.ts';

const ANY: Source = 'user:any';

/** A clock that only work advances. Each unit of work takes `ms`, after a few microtasks like a request. */
function setUp(ms: number, limits?: WaitingLimits) {
  let now = 0;
  const begun: number[] = [];
  const starts = new Starts({ monotonicMs: () => now }, limits);
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

describe('starts', () => {
  it('begin at once what comes alone', () => {
    const { starts } = setUp(1);
    let begun = 0;
    starts.run(ANY, () => void begun++);
    expect(begun).toBe(1);
    expect(starts.next(ANY)).toBeUndefined();
  });

  it('begin in each round what fits it, in the order in which it came', async () => {
    const { starts, begun, begin, now } = setUp(4);
    // Each start is in a callback of its own, as when requests are read.
    for (let n = 0; n < 40; n++) {
      starts.run(ANY, begin(n));
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
    starts.run(ANY, begin(0));
    await Promise.resolve()
      .then(() => undefined)
      .then(() => undefined);
    starts.run(ANY, begin(1));
    const later = starts.next(ANY);
    expect(begun).toEqual([0]);
    expect(later).toBeInstanceOf(Promise);
    await later;
    expect(begun).toEqual([0, 1]);
  });

  it('let what comes in a new round wait behind what waits', async () => {
    const { starts, begun, begin } = setUp(20);
    starts.run(ANY, begin(0));
    await Promise.resolve()
      .then(() => undefined)
      .then(() => undefined);
    for (let n = 1; n < 5; n++) starts.run(ANY, begin(n));
    await nextRound();
    await nextRound();
    expect(begun.length).toBeLessThan(5);
    const later = starts.next(ANY);
    expect(later).toBeInstanceOf(Promise);
    starts.run(ANY, begin(5));
    while (begun.length < 6) await nextRound();
    expect(begun).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('begin at once again when the crowd has gone', async () => {
    const { starts, begin, begun } = setUp(20);
    for (let n = 0; n < 3; n++) starts.run(ANY, begin(n));
    while (begun.length < 3) await nextRound();
    await nextRound();
    await nextRound();
    expect(starts.next(ANY)).toBeUndefined();
  });
});

describe('sources', () => {
  /**
   * Starts with a round that has no time left. `wait` adds work from a source. `rest` returns the sources in the order in which they begin.
   */
  async function crowd(limits?: WaitingLimits) {
    const { starts, begin } = setUp(20, limits);
    starts.run(ANY, begin(0));
    await Promise.resolve()
      .then(() => undefined)
      .then(() => undefined);
    const begun: string[] = [];
    const wait = (source: Source, text: string = source) => starts.run(source, () => void begun.push(text));
    const rest = async (count: number) => {
      while (begun.length < count) await nextRound();
      return begun;
    };
    return { starts, wait, rest };
  }

  it('take turns, each in its own order', async () => {
    const { wait, rest } = await crowd();
    for (let n = 0; n < 100; n++) wait('user:crowd', `crowd ${n}`);
    wait('user:node', 'node 0');
    wait('user:node', 'node 1');
    wait('user:leader', 'leader 0');
    expect((await rest(103)).slice(0, 6)).toEqual(['crowd 0', 'node 0', 'leader 0', 'crowd 1', 'node 1', 'crowd 2']);
  });

  it('have one turn in a round of turns also when they go and come again', async () => {
    const { wait, rest } = await crowd();
    for (let n = 0; n < 3; n++) wait('user:a', `a${n}`);
    wait('user:b', 'b0');
    expect(await rest(4)).toEqual(['a0', 'b0', 'a1', 'a2']);
    wait('user:b', 'b1');
    await rest(5);
  });

  it('which are addresses have every second place together', async () => {
    const { wait, rest } = await crowd();
    for (let n = 0; n < 100; n++) wait(`address:10.0.0.${n}`);
    wait('user:node');
    wait('user:leader');
    const begun = await rest(102);
    expect(begun.slice(0, 4)).toEqual(['user:node', 'address:10.0.0.0', 'user:leader', 'address:10.0.0.1']);
  });

  it('of which too much waits are refused, and others are not', async () => {
    const { starts, wait, rest } = await crowd({ ofSource: 3, total: 100, sources: 100 });
    for (let n = 0; n < 3; n++) expect(wait('user:crowd')).toBe(true);
    expect(wait('user:crowd')).toBe(false);
    await expect(starts.next('user:crowd')).rejects.toBeInstanceOf(CrowdError);
    expect(wait('user:node')).toBe(true);
    expect(await rest(4)).toHaveLength(4);
    expect(wait('user:crowd')).toBe(true);
    await rest(5);
  });

  it('of which nothing waits may add one where there is no room left for the others', async () => {
    const { wait, rest } = await crowd({ ofSource: 100, total: 3, sources: 100 });
    for (let n = 0; n < 3; n++) expect(wait(`user:${n}`)).toBe(true);
    expect(wait('user:0')).toBe(false);
    expect(wait('user:node')).toBe(true);
    expect(wait('user:node')).toBe(false);
    await rest(4);
  });

  it('that are too many share a queue', async () => {
    const { wait, rest } = await crowd({ ofSource: 3, total: 100, sources: 2 });
    for (let n = 0; n < 2; n++) for (const name of ['a', 'b']) expect(wait(`user:${name}`)).toBe(true);
    for (let n = 0; n < 3; n++) expect(wait(`user:more-${n}`)).toBe(true);
    expect(wait('user:more-3')).toBe(false);
    // The other kind has its own queues.
    expect(wait('address:10.0.0.1')).toBe(true);
    expect(await rest(8)).toEqual([
      'user:a',
      'address:10.0.0.1',
      'user:b',
      'user:more-0',
      'user:a',
      'user:b',
      'user:more-1',
      'user:more-2',
    ]);
  });
});
