import { ManualClock } from '@gantry/base/testing';
import { expect, test } from 'vitest';
import { untilRight } from './until-right.ts';

test('what is wrong is reported when the limit is over, and every ten seconds before', async () => {
  const clock = new ManualClock();
  const said: string[] = [];
  const look = async () => await Promise.resolve(['web has 2 pods', 'a Job runs']);
  const waiting = untilRight(clock, look, { limitMs: 25_000, say: (text) => said.push(text) });
  await clock.advance(27_000);
  expect(await waiting).toEqual(['web has 2 pods', 'a Job runs']);
  expect(said).toEqual(Array.from({ length: 2 }, () => 'still to come: web has 2 pods; and 1 more'));
});

test('an error of a look is something wrong, until a look finds nothing', async () => {
  const clock = new ManualClock();
  const looks = [
    () => Promise.reject(new Error('no response')),
    () => Promise.resolve(['late']),
    () => Promise.resolve([]),
  ];
  let turn = 0;
  const waiting = untilRight(clock, async () => (await (looks[turn++] ?? looks[0])?.()) ?? []);
  await clock.advance(5_000);
  expect(await waiting).toEqual([]);
  expect(turn).toBe(3);
});

test('Ctrl-C ends the wait at once, also within a look, and leaves nothing to report', async () => {
  const clock = new ManualClock();
  const interrupted = new AbortController();
  const look = (signal: AbortSignal) =>
    new Promise<readonly string[]>((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')));
    });
  const waiting = untilRight(clock, look, { interrupted: interrupted.signal });
  interrupted.abort();
  expect(await waiting).toEqual([]);
});
