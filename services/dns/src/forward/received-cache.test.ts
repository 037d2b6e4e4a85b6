import { ManualClock } from '@gantry/base/testing';
import packet, { type Answer } from 'dns-packet';
import { describe, expect, it } from 'vitest';
import { questionPacket } from '../testing/ask.ts';
import { readQuery } from '../wire/query.ts';
import { ReceivedCache } from './received-cache.ts';
import { readReceived, type Received } from './upstream-packet.ts';

function received(answers: Answer[], flags = 0): Received {
  const asked = readQuery(questionPacket('a.example'));
  if (asked.kind !== 'query') throw new RangeError('the question is one');
  const questions = [{ type: 'A', name: 'a.example' } as const];
  const read = readReceived(packet.encode({ type: 'response', id: 7, flags, questions, answers }), 7, asked.query);
  if (read === undefined) throw new RangeError('the response is one');
  return read;
}

const record = (ttl: number, name = 'a.example'): Answer => ({ type: 'A', name, ttl, data: '192.0.2.1' });

describe('the cache of received responses', () => {
  it.each([
    ['as long as its record', [record(10)], 0, 10],
    ['as long as the shortest of its records', [record(20), record(3)], 0, 3],
    ['for 30 s at most', [record(3600)], 0, 30],
    ['not at all without a time', [record(0)], 0, 0],
    ['not at all when it is truncated', [record(10)], 0x200, 0],
    ['not at all when the server failed', [record(10)], 2, 0],
  ])('keeps one %s', async (_, answers, flags, seconds) => {
    const clock = new ManualClock();
    const cache = new ReceivedCache(clock);
    cache.keep('key', received(answers, flags));
    if (seconds > 0) {
      await clock.advance(seconds * 1000 - 1);
      expect(cache.find('key')?.keptSeconds).toBe(seconds - 1);
      await clock.advance(1);
    }
    expect(cache.find('key')).toBeUndefined();
  });

  it('keeps no large ones, and not more than 4096', () => {
    const cache = new ReceivedCache(new ManualClock());
    cache.keep('large', received(Array.from({ length: 300 }, () => record(10))));
    expect(cache.find('large')).toBeUndefined();
    const small = received([record(10)]);
    for (let i = 0; i <= 4096; i++) cache.keep(String(i), small);
    expect(cache.find('0')).toBeUndefined();
    expect(cache.find('1')).toBeDefined();
    expect(cache.find('4096')).toBeDefined();
  });
});
