import { PassThrough, Writable } from 'node:stream';
import { ManualClock } from '@gantry/base/testing';
import { expect, test } from 'vitest';
import { finishWriting } from './finish-writing.ts';

test('a client that reads gets the last bytes, and no timer is left', async () => {
  const clock = new ManualClock();
  const stream = new PassThrough();
  stream.write('a');
  const done = finishWriting(stream, clock, Buffer.from('b'));
  expect(Buffer.concat(await stream.toArray()).toString()).toBe('ab');
  await done;
  expect(clock.nextTimerMs()).toBeUndefined();
});

test('a client that does not read holds the connection for a minute', async () => {
  const clock = new ManualClock();
  const stream = new Writable({ write: () => undefined });
  stream.write('a');
  const done = finishWriting(stream, clock, Buffer.from('b'));
  await clock.advance(60_000);
  await done;
  expect(stream.destroyed).toBe(true);
});
