import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { ManualClock } from '@gantry/base/testing';
import { describe, expect, it } from 'vitest';
import type { Exchange } from './exchange.ts';
import { waitForDrain } from './send-pieces.ts';

describe('a wait for the client to read', () => {
  function waiting(limitMs?: number) {
    const clock = new ManualClock();
    const stop = new AbortController();
    const res = new ServerResponse(new IncomingMessage(new Socket()));
    const state = { ended: false };
    const wait = waitForDrain({ res, signal: stop.signal } as Exchange, clock, limitMs);
    void wait.then(() => (state.ended = true));
    return { clock, stop, res, state, wait };
  }

  it.each<[string, (one: ReturnType<typeof waiting>) => unknown]>([
    ['has read', ({ res }) => res.emit('drain')],
    ['has gone', ({ res }) => res.emit('close')],
    ['is no longer served', ({ stop }) => stop.abort()],
  ])('ends when it %s, and leaves nothing behind', async (_what, end) => {
    const one = waiting();
    const listeners = one.res.listenerCount('close');
    end(one);
    await one.wait;
    expect(one.res.destroyed).toBe(false);
    expect(one.clock.nextTimerMs()).toBeUndefined();
    expect([one.res.listenerCount('drain'), one.res.listenerCount('close')]).toEqual([0, listeners - 1]);
  });

  it('disconnects a client that reads nothing for 30 s', async () => {
    const one = waiting();
    await one.clock.advance(29_999);
    expect([one.state.ended, one.res.destroyed]).toEqual([false, false]);
    await one.clock.advance(1);
    await one.wait;
    expect(one.res.destroyed).toBe(true);
  });

  it('of a log has no limit', async () => {
    const { clock, state, res } = waiting(Infinity);
    await clock.advance(24 * 60 * 60 * 1000);
    expect([state.ended, res.destroyed]).toEqual([false, false]);
  });
});
