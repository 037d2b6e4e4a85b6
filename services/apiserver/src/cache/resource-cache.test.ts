import { append } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import type { KubeObject } from '@gantry/objects';
import { resources } from '@gantry/kinds';
import { beforeEach, describe, expect, it } from 'vitest';
import type { StoreEvent } from '../storage/object-store.ts';
import { createMemoryObjectStore, type MemoryObjectStore } from '../storage/testing/memory-store.ts';
import { EventRing, type RingLimits } from './event-ring.ts';
import type { Filter } from './view.ts';
import { listVersion } from './object-keys.ts';
import { ResourceCache } from './resource-cache.ts';
import { RetainedBytes } from './retained-bytes.ts';
import { WatchCache } from './watch-cache.ts';
import type { EventItem, WatchItem } from './object-response.ts';
import type { Watcher } from './watcher.ts';

const ALL: Filter = { namespace: '', matches: () => true, selectsAll: true };
const RED: Filter = {
  namespace: '',
  matches: ({ metadata }) => metadata.labels?.['colour'] === 'red',
  selectsAll: false,
};
const RING: RingLimits = { minEvents: 100, maxEvents: 100, maxBytes: 1e9, keepMs: 60_000 };
const PREFIX = '/registry/configmaps/';
const signal = new AbortController().signal;

/** The version of the n-th write of a revision. */
const version = (revision: number, index = 0) => revision * 256 + index;

function put(name: string, resourceVersion: number, colour = 'red'): StoreEvent {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'n', labels: { colour } } };
  return { kind: 'put', key: `${PREFIX}n/${name}`, resourceVersion, object, bytes: 10, created: false };
}

function nameOf({ response }: EventItem): string | undefined {
  return response.object.metadata.name;
}

/** Formats each item as type, name of the object, and index of the version in its revision. */
async function drain(watcher: Watcher): Promise<readonly string[]> {
  watcher.close('stopped');
  const seen: WatchItem[] = [];
  for await (const items of watcher) append(seen, items);
  return seen.map((item) => {
    if (item.type === 'BOOKMARK') return item.type;
    const { name, resourceVersion = '' } = item.response.object.metadata;
    return `${item.type} ${name} ${Math.floor(Number(resourceVersion) / 256)}`;
  });
}

describe('the cache of a resource', () => {
  let cache: ResourceCache;
  const create = (ring: Partial<RingLimits> = {}) =>
    new ResourceCache(PREFIX, {
      nodeNameOf: undefined,
      ring: { ...RING, ...ring },
      maxQueued: 10,
      encode: () => new Uint8Array(),
      retained: new RetainedBytes(1e6),
    });
  const watch = (after: number, filter = ALL) =>
    cache.watch({ kind: 'after', resourceVersion: after }, filter, { bookmarks: false, revision: 5 });
  beforeEach(() => {
    cache = create();
    cache.reset([], 1);
  });

  it('takes no event twice, and none that is older than what it has', async () => {
    const watcher = watch(listVersion(1));
    cache.apply(put('a', version(2)), 0);
    cache.apply(put('b', version(3)), 0);
    cache.apply(put('a', version(2)), 0);
    cache.apply(put('b', version(2, 1)), 0);
    expect(cache.snapshot().map(({ resourceVersion }) => resourceVersion)).toEqual([version(2), version(3)]);
    expect(await drain(watcher)).toEqual(['ADDED a 2', 'ADDED b 3']);
  });

  it('sends a watch nothing from before its start', async () => {
    // The client of this watch has read a version that the cache has not reached.
    const watcher = watch(version(3));
    cache.apply(put('a', version(2)), 0);
    cache.apply(put('b', version(3)), 0);
    cache.apply(put('c', version(4)), 0);
    expect(await drain(watcher)).toEqual(['ADDED c 4']);
  });

  it('delivers what came in one turn as one batch, to each watch that waits', async () => {
    const readers = [watch(listVersion(1)), watch(listVersion(1))].map((watcher) => watcher[Symbol.asyncIterator]());
    const names = async () => {
      const results = await Promise.all(readers.map((reader) => reader.next()));
      return results.map(({ value }) => value?.map((item) => (item.type === 'BOOKMARK' ? '' : nameOf(item))));
    };
    const first = names();
    cache.apply(put('a', version(2)), 0);
    cache.apply(put('b', version(3)), 0);
    expect(await first).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ]);
    cache.apply(put('c', version(4)), 0);
    expect(await names()).toEqual([['c'], ['c']]);
  });

  it('ends a watch whose reader leaves, and the wait of a reader whose watch ends', async () => {
    const [left, closed] = [watch(listVersion(1)), watch(listVersion(1))];
    await left[Symbol.asyncIterator]().return?.();
    const waiting = closed[Symbol.asyncIterator]().next();
    closed.close('cache-reset');
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect([left.end, closed.end, cache.watcherCount()]).toEqual(['stopped', 'cache-reset', 0]);
  });

  it('shows an object that a selector does not select any more as deleted', async () => {
    const watcher = watch(listVersion(1), RED);
    cache.apply(put('a', version(2)), 0);
    cache.apply(put('a', version(3), 'blue'), 0);
    cache.apply(put('a', version(4), 'green'), 0);
    cache.apply(put('a', version(5), 'red'), 0);
    expect(await drain(watcher)).toEqual(['ADDED a 2', 'DELETED a 3', 'ADDED a 5']);
  });

  it('keeps recent events within their limit of bytes, but never less than the newest revision', () => {
    cache = create({ maxBytes: 25 });
    cache.reset([], 1);
    for (const revision of [2, 3, 4, 5]) cache.apply(put(`name-${revision}`, version(revision)), 0);
    expect(cache.statistics()).toMatchObject({ events: 2, eventBytes: 20 });
    for (const index of [0, 1, 2, 3]) cache.apply(put(`wide-${index}`, version(6, index)), 0);
    expect(cache.statistics()).toMatchObject({ events: 4, eventBytes: 40 });
  });
});

describe('recent events', () => {
  it('leave by whole revisions', () => {
    const ring = new EventRing({ ...RING, minEvents: 1, maxEvents: 2 }, listVersion(1));
    const event = (resourceVersion: number) => ({
      resourceVersion,
      at: 0,
      old: undefined,
      current: undefined,
      bytes: 1,
      gone: () => undefined,
      items: {},
    });
    for (const one of [version(2, 0), version(2, 1), version(2, 2), version(3)]) ring.push(event(one));
    // Two of the four events must go. All events of revision 2 are evicted together.
    expect(ring.floor).toBe(listVersion(2));
    expect(ring.after(ring.floor).map(({ resourceVersion }) => resourceVersion)).toEqual([version(3)]);
    expect([ring.size, ring.bytes]).toEqual([1, 1]);
  });
});

describe('the watch cache', () => {
  let clock: ManualClock;
  let store: MemoryObjectStore;
  let stop: AbortController;
  const create = () =>
    new WatchCache({
      store,
      clock,
      random: () => 0.5,
      definitions: resources,
      encodeProtobuf: () => new Uint8Array(),
      onError: () => undefined,
    });
  beforeEach(() => {
    clock = new ManualClock();
    store = createMemoryObjectStore({ clock });
    stop = new AbortController();
  });
  const write = async (key: string) => {
    const object: KubeObject = { apiVersion: 'v1', kind: 'Any', metadata: { name: 'a' } };
    const value = new TextEncoder().encode(JSON.stringify(object));
    const work = store.write({ key, expected: 'absent', value, writer: { name: 'test' } }, signal);
    await clock.advance(10);
    const outcome = await work;
    if (outcome.kind !== 'committed') throw new TypeError(outcome.kind);
    return outcome.resourceVersion;
  };

  it('begins a cache that is made late at the list: what was before is not known', async () => {
    const before = await write('/registry/example.com/widgets/n/a');
    const cache = create();
    const running = cache.run(stop.signal);
    await clock.advance(10);
    const gadgets = cache.resource({ group: 'example.com', resource: 'gadgets' });
    const watch = (after: number) =>
      gadgets.watch({ kind: 'after', resourceVersion: after }, ALL, { bookmarks: false, revision: cache.revision });
    expect(() => watch(before - 256)).toThrow('too old resource version');
    const watcher = watch(listVersion(cache.revision));
    await write('/registry/example.com/gadgets/n/a');
    expect(await drain(watcher)).toHaveLength(1);
    stop.abort();
    await clock.advance(1000);
    await running;
  });

  it('has not caught up before its first list, nor while the store is ahead', async () => {
    const cache = create();
    expect(await cache.catchUp(10, signal)).toBe(false);
    const running = cache.run(stop.signal);
    await clock.advance(10);
    const catchUp = async () => {
      const work = cache.catchUp(50, signal);
      await clock.advance(100);
      return work;
    };
    expect(await catchUp()).toBe(true);
    store.etcd.silenceWatches();
    await write('/registry/configmaps/n/a');
    expect(await catchUp()).toBe(false);
    store.etcd.resumeWatches();
    expect(await catchUp()).toBe(true);
    stop.abort();
    await clock.advance(1000);
    await running;
  });
});
