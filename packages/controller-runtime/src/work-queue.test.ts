import type { ObjectKey } from '@gantry/objects';
import { ManualClock } from '@gantry/base/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { WorkQueue } from './work-queue.ts';

const { signal } = new AbortController();
const key = (name: string, namespace = 'a'): ObjectKey => ({ namespace, name });

describe('a work queue', () => {
  let clock: ManualClock;
  let queue: WorkQueue;
  beforeEach(() => {
    clock = new ManualClock();
    queue = new WorkQueue({ clock, random: () => 0.5, backoff: { initialMs: 100, maxMs: 1000 } });
  });

  it('gives a key once however often it was added', async () => {
    queue.add(key('x'));
    queue.add(key('x'));
    expect(await queue.take(signal)).toEqual(key('x'));
    expect(queue.length).toBe(0);
  });

  it('gives a key again when it was added while it was worked on, and not before', async () => {
    queue.add(key('x'));
    await queue.take(signal);
    queue.add(key('x'));
    expect(queue.length).toBe(0);
    queue.done(key('x'));
    expect(await queue.take(signal)).toEqual(key('x'));
  });

  it('hands a key to a worker that waits, without giving it to another', async () => {
    const first = queue.take(signal);
    const second = queue.take(signal);
    queue.add(key('x'));
    queue.add(key('x'));
    expect(await first).toEqual(key('x'));
    queue.add(key('y'));
    expect(await second).toEqual(key('y'));
    queue.done(key('x'));
    expect(await queue.take(signal)).toEqual(key('x'));
  });

  it('lets namespaces take turns', async () => {
    for (const name of ['1', '2', '3']) queue.add(key(name, 'busy'));
    queue.add(key('1', 'quiet'));
    const order: string[] = [];
    for (let i = 0; i < 4; i++) {
      const { namespace, name } = await queue.take(signal);
      order.push(`${namespace}${name}`);
    }
    expect(order).toEqual(['busy1', 'quiet1', 'busy2', 'busy3']);
  });

  it('counts the soonest of several delays', async () => {
    queue.addAfter(key('x'), 500);
    queue.addAfter(key('x'), 100);
    queue.addAfter(key('x'), 300);
    await clock.advance(99);
    expect(queue.length).toBe(0);
    await clock.advance(1);
    expect(queue.length).toBe(1);
  });

  it('waits longer after each failure until it is forgotten', () => {
    expect(queue.addRateLimited(key('x'))).toBe(100);
    expect(queue.addRateLimited(key('x'))).toBe(200);
    expect(queue.addRateLimited(key('x'))).toBe(400);
    queue.forget(key('x'));
    expect(queue.addRateLimited(key('x'))).toBe(100);
  });

  it('stops waiting by the signal, and loses no key by that', async () => {
    const stop = new AbortController();
    const waiting = queue.take(stop.signal);
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    queue.add(key('x'));
    expect(await queue.take(signal)).toEqual(key('x'));
  });
});
