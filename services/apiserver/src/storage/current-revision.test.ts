import { ManualClock } from '@gantry/base/testing';
import { describe, expect, it } from 'vitest';
import { CurrentRevision } from './current-revision.ts';

const signal = new AbortController().signal;

describe('the current revision', () => {
  it('is asked for again by a reader who comes after a question was sent', async () => {
    const clock = new ManualClock();
    const answers: PromiseWithResolvers<number>[] = [];
    const current = new CurrentRevision(clock, () => {
      const answer = Promise.withResolvers<number>();
      answers.push(answer);
      return answer.promise;
    });
    const first = current.get(signal);
    await clock.advance(0);
    // A write is confirmed between the two requests, so only the response of the second request includes it.
    const second = current.get(signal);
    await clock.advance(10);
    expect(answers).toHaveLength(2);
    answers[0]?.resolve(7);
    answers[1]?.resolve(8);
    expect(await Promise.all([first, second])).toEqual([7, 8]);
  });

  it('is one question for all who wait for it to be sent', async () => {
    const clock = new ManualClock();
    let questions = 0;
    const current = new CurrentRevision(clock, () => Promise.resolve(++questions));
    const all = Promise.all([current.get(signal), current.get(signal), current.get(signal)]);
    await clock.advance(10);
    expect(await all).toEqual([1, 1, 1]);
  });
});
