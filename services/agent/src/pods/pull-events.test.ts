import { ManualClock } from '@gantry/base/testing';
import { expect, it } from 'vitest';
import { pullEvents } from './pull-events.ts';

it('a long pull has at most one Event for each quarter, and ten seconds between two', async () => {
  const clock = new ManualClock();
  const events: string[] = [];
  const report = pullEvents('app:1', (...event) => void events.push(event.join(' ')), clock);
  const at = async (seconds: number, percent: number) => {
    await clock.advance(seconds * 1000 - clock.monotonicMs() + began);
    report({ bytes: percent * 10, totalBytes: 1000 });
  };
  const began = clock.monotonicMs();
  await at(1, 30);
  expect(events).toEqual([]);
  await at(10, 31);
  await at(11, 60);
  // Another layer has begun.
  await at(21, 20);
  expect(events).toEqual(['Normal Pulling Pulling image "app:1": 25% of the 1000 bytes known so far']);
  await at(30, 99);
  await at(60, 99);
  await at(90, 100);
  expect(events.slice(1)).toEqual(['Normal Pulling Pulling image "app:1": 75% of the 1000 bytes known so far']);
});
