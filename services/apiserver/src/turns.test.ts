import { setImmediate as nextRound } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { atOnce, type InTurns } from '@gantry/base';
import { Turns } from './turns.ts';

/** A clock that advances only by work. */
function workingClock(): { monotonicMs(): number; work(ms: number): void } {
  let now = 0;
  return { monotonicMs: () => now, work: (ms) => void (now += ms) };
}

describe('turns', () => {
  const never = new AbortController().signal;

  function setUp() {
    const clock = workingClock();
    const done: string[] = [];
    const work = (name: string, pieces: number): InTurns<string> =>
      function* (turn) {
        for (let piece = 0; piece < pieces; piece++) {
          clock.work(4);
          done.push(name);
          if (turn.isOver()) yield;
        }
        return name;
      };
    return { turns: new Turns(clock), work, done };
  }

  it('run what is short at once', async () => {
    const { turns, work, done } = setUp();
    const result = turns.run(work('a', 2), never);
    expect(done).toEqual(['a', 'a']);
    expect(await result).toBe('a');
  });

  it('are one for all computations in a round of the event loop', async () => {
    const { turns, work, done } = setUp();
    const all = Promise.all(['a', 'b', 'c'].map((name) => turns.run(work(name, 6), never)));
    // The first computation has its turn. The others check once and wait.
    let seen = done.length;
    expect(seen).toBeLessThanOrEqual(6);
    const rounds: number[] = [];
    while (done.length < 18) {
      await nextRound();
      rounds.push(done.length - seen);
      seen = done.length;
    }
    expect(Math.max(...rounds)).toBeLessThanOrEqual(4);
    expect(await all).toEqual(['a', 'b', 'c']);
  });

  it('end with the signal', async () => {
    const { turns, work, done } = setUp();
    const stop = new AbortController();
    const result = turns.run(work('a', 100), stop.signal);
    stop.abort(new Error('gone'));
    await expect(result).rejects.toThrow('gone');
    expect(done.length).toBeLessThan(8);
    expect(await turns.run(work('b', 20), never)).toBe('b');
  });

  it('do not end where no other work is waited for', () => {
    const { work, done } = setUp();
    expect(atOnce(work('a', 50))).toBe('a');
    expect(done).toHaveLength(50);
  });
});
