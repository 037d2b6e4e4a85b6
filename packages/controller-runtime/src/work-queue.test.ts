import { setImmediate as turn } from 'node:timers/promises';
import type { ObjectKey } from '@gantry/objects';
import { ManualClock } from '@gantry/base/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { QueueMeter } from './queue-meter.ts';
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
    expect(await first).toEqual(key('x'));
    queue.add(key('x'));
    queue.add(key('y'));
    expect(await second).toEqual(key('y'));
    queue.done(key('x'));
    expect(await queue.take(signal)).toEqual(key('x'));
  });

  it('hands a key to workers that wait once however often a turn of the event loop adds it', async () => {
    const taken: string[] = [];
    for (const worker of ['first', 'second']) {
      void queue.take(signal).then(({ name }) => taken.push(`${worker} ${name}`));
    }
    queue.add(key('x'));
    // Another event of the same turn.
    await Promise.resolve();
    queue.add(key('x'));
    queue.add(key('y'));
    await turn();
    queue.done(key('x'));
    queue.done(key('y'));
    expect(taken).toEqual(['first x', 'second y']);
    expect(queue.length).toBe(0);
  });

  it('gives a key that comes back after the turn that brings it back', async () => {
    queue.add(key('x'));
    await queue.take(signal);
    const waiting = queue.take(signal);
    queue.add(key('x'));
    queue.done(key('x'));
    queue.add(key('x'));
    expect(await waiting).toEqual(key('x'));
    queue.done(key('x'));
    expect(queue.length).toBe(0);
  });

  it('forgets what a turn has added when it is cleared, and gives what the turn adds then', async () => {
    const waiting = queue.take(signal);
    queue.add(key('x'));
    queue.clear();
    expect(queue.length).toBe(0);
    queue.add(key('y'));
    expect(await waiting).toEqual(key('y'));
    expect(queue.length).toBe(0);
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

  it('lets shares take turns that are not namespaces', async () => {
    queue = new WorkQueue({ clock, random: () => 0.5, share: ({ name }) => name.slice(0, 1) });
    for (const name of ['a1', 'a2', 'a3', 'b1']) queue.add(key(name, ''));
    const order: string[] = [];
    for (let i = 0; i < 4; i++) order.push((await queue.take(signal)).name);
    expect(order).toEqual(['a1', 'b1', 'a2', 'a3']);
  });

  it('keeps a caller free of a share that holds the others, until it releases or ends one', async () => {
    queue = new WorkQueue({ clock, random: () => 0.5, mostOfShare: 2 });
    for (const name of ['1', '2', '3', '4', '5']) queue.add(key(name, 'busy'));
    await queue.take(signal);
    await queue.take(signal);
    const taken: string[] = [];
    const take = () => void queue.take(signal).then(({ namespace, name }) => taken.push(`${namespace}${name}`));
    take();
    await turn();
    expect(taken).toEqual([]);
    queue.add(key('1', 'quiet'));
    await turn();
    expect(taken).toEqual(['quiet1']);
    take();
    take();
    await turn();
    expect(taken).toEqual(['quiet1']);
    queue.release(key('1', 'busy'));
    queue.done(key('1', 'busy'));
    await turn();
    expect(taken).toEqual(['quiet1', 'busy3']);
    queue.done(key('2', 'busy'));
    await turn();
    expect(taken).toEqual(['quiet1', 'busy3', 'busy4']);
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

  it('stops only those who wait with the signal that is aborted', async () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const ended = queue.take(first.signal);
    const alsoEnded = queue.take(first.signal);
    const waiting = queue.take(second.signal);
    first.abort(new Error('enough'));
    await expect(ended).rejects.toThrow('enough');
    await expect(alsoEnded).rejects.toThrow('enough');
    queue.add(key('x'));
    expect(await waiting).toEqual(key('x'));
  });
});

describe('the meter of a queue', () => {
  const seen: string[] = [];
  const observer = {
    waited: (seconds: number) => void seen.push(`waited ${seconds}`),
    worked: (seconds: number) => void seen.push(`worked ${seconds}`),
  };
  let clock: ManualClock;
  let meter: QueueMeter;
  let queue: WorkQueue;
  beforeEach(() => {
    seen.length = 0;
    clock = new ManualClock();
    meter = new QueueMeter('c', observer);
    queue = new WorkQueue({ clock, random: () => 0.5, backoff: { initialMs: 100, maxMs: 1000 }, meter });
  });
  const state = () => meter.state(clock.monotonicMs());

  it('counts keys that are added, not those that wait already, and measures how long they wait and are worked on', async () => {
    queue.add(key('x'));
    queue.add(key('x'));
    queue.add(key('y'));
    expect(state()).toEqual({ name: 'c', depth: 2, adds: 2, retries: 0, unfinishedSeconds: 0, longestSeconds: 0 });
    await clock.advance(2000);
    await queue.take(signal);
    await clock.advance(1000);
    await queue.take(signal);
    await clock.advance(500);
    expect(state()).toMatchObject({ depth: 0, unfinishedSeconds: 2, longestSeconds: 1.5 });
    queue.done(key('x'));
    queue.done(key('y'));
    expect(seen).toEqual(['waited 2', 'waited 3', 'worked 1.5', 'worked 0.5']);
    expect(state()).toMatchObject({ unfinishedSeconds: 0, longestSeconds: 0 });
  });

  it('counts a key again that is added while it is worked on, from then on', async () => {
    queue.add(key('x'));
    await queue.take(signal);
    await clock.advance(1000);
    queue.add(key('x'));
    queue.add(key('x'));
    await clock.advance(1000);
    queue.done(key('x'));
    expect(state()).toMatchObject({ adds: 2, depth: 1 });
    await queue.take(signal);
    expect(seen).toEqual(['waited 0', 'worked 2', 'waited 1']);
  });

  it('counts retries, measures keys that are awaited, and goes on after the queue is cleared', async () => {
    const taken = queue.take(signal);
    queue.addRateLimited(key('x'));
    await clock.advance(1000);
    await taken;
    expect(seen).toEqual(['waited 0']);
    queue.add(key('y'));
    queue.clear();
    expect(state()).toMatchObject({ adds: 2, retries: 1, depth: 0 });
    queue.done(key('x'));
    expect(seen).toEqual(['waited 0', 'worked 0.9']);
  });
});
