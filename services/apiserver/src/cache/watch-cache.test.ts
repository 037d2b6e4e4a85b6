import { resources } from '@gantry/kinds';
import { type KubeObject, StatusError } from '@gantry/objects';
import { append, must, seededRandom } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { WatchItem } from './object-response.ts';
import { createMemoryObjectStore, type MemoryObjectStore } from '../storage/testing/memory-store.ts';
import type { Filter } from './view.ts';
import { listVersion, objectKey } from './object-keys.ts';
import { WatchCache, type WatchCacheOptions } from './watch-cache.ts';
import { reportCache } from '../meters.ts';
import type { Watcher } from './watcher.ts';
import { createMetrics } from '@gantry/service';

const CONFIG_MAPS = { group: '', resource: 'configmaps' };
const ALL: Filter = { namespace: '', matches: () => true, selectsAll: true };
const never = new AbortController().signal;

describe('the watch cache', () => {
  let clock: ManualClock;
  let store: MemoryObjectStore;
  let cache: WatchCache;
  let stopping: AbortController;
  let running: Promise<void>;
  let errors: string[];

  const start = async (options: Partial<WatchCacheOptions> = {}) => {
    stopping = new AbortController();
    errors = [];
    cache = new WatchCache({
      store,
      clock,
      random: seededRandom(1),
      definitions: resources,
      encodeProtobuf: () => new Uint8Array(),
      onError: (message) => errors.push(message),
      ...options,
    });
    running = cache.run(stopping.signal);
    await clock.advance(10);
    expect(cache.ready).toBe(true);
  };
  const stop = async () => {
    stopping.abort();
    await clock.advance(1000);
    await running;
  };
  const put = async (name: string, version: 'absent' | number = 'absent') => {
    const object = {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { name, namespace: 'n' },
      data: { at: String(clock.now()) },
    };
    const work = store.write(
      {
        key: objectKey(CONFIG_MAPS, 'n', name),
        expected: version,
        value: new TextEncoder().encode(JSON.stringify(object)),
        writer: { name: 'test' },
      },
      never,
    );
    await clock.advance(10);
    const outcome = await work;
    if (outcome.kind !== 'committed') throw new Error(outcome.kind);
    return outcome.resourceVersion;
  };
  const remove = async (name: string, version: number) => {
    const key = objectKey(CONFIG_MAPS, 'n', name);
    const work = store.write({ key, expected: version, value: null, writer: { name: 'test' } }, never);
    await clock.advance(10);
    await work;
  };
  const configMaps = () => cache.resource(CONFIG_MAPS);
  const open = (resourceVersion: number, bookmarks = false) =>
    configMaps().watch({ kind: 'after', resourceVersion }, ALL, { bookmarks, revision: cache.revision });
  const show = (item: WatchItem) =>
    item.type === 'BOOKMARK'
      ? `BOOKMARK ${item.resourceVersion}`
      : `${item.type} ${item.response.object.metadata.name}`;
  const drain = async (watcher: Watcher) => {
    watcher.close('stopped');
    const seen: string[] = [];
    for await (const items of watcher) append(seen, items.map(show));
    return seen;
  };

  /** Collects the items of an open watch. */
  const follow = (watcher: Watcher): readonly string[] => {
    const seen: string[] = [];
    void (async () => {
      for await (const items of watcher) append(seen, items.map(show));
    })();
    return seen;
  };

  beforeEach(() => {
    clock = new ManualClock();
    store = createMemoryObjectStore({ clock });
  });
  afterEach(async () => {
    await stop();
  });

  it('holds what was there before it started and follows what changes', async () => {
    const a = await put('a');
    await start();
    await put('b');
    await remove('a', a);
    expect(
      configMaps()
        .snapshot()
        .map((entry) => entry.response.object.metadata.name),
    ).toEqual(['b']);
  });

  it('resumes a watch from any version that it still knows, without gaps or repeats', async () => {
    await start();
    const versions = [await put('a'), await put('b'), await put('c')];
    expect(await drain(open(must(versions[0], 'first')))).toEqual(['ADDED b', 'ADDED c']);
    expect(await drain(open(must(versions[2], 'last')))).toEqual([]);
  });

  it('answers a version below its ring with 410 and evicts only whole revisions', async () => {
    await start({ ring: { minEvents: 2, maxEvents: 3, maxBytes: 1e9, keepMs: 60_000 } });
    const versions: number[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e']) versions.push(await put(name));
    const [first = 0, second = 0] = versions;
    expect(() => open(first)).toThrow(StatusError);
    expect(() => open(first)).toThrow(`too old resource version: ${first} (${listVersion(Math.floor(second / 256))})`);
    expect(await drain(open(second + 255))).toEqual(['ADDED c', 'ADDED d', 'ADDED e']);
  });

  it('shows a deleted object as it was, at the version of its deletion', async () => {
    await start();
    const a = await put('a');
    const watcher = open(a);
    await remove('a', a);
    watcher.close('stopped');
    const objects: KubeObject[] = [];
    for await (const items of watcher)
      for (const item of items) if (item.type === 'DELETED') objects.push(item.response.object);
    expect(Number(objects[0]?.metadata.resourceVersion)).toBeGreaterThan(a);
    expect(objects[0]).toMatchObject({ metadata: { name: 'a' } });
  });

  it('cuts off a watch that does not keep up, and delivers what it had', async () => {
    await start({ maxQueuedPerWatch: 2 });
    const a = await put('a');
    const watcher = open(a);
    for (const name of ['b', 'c', 'd', 'e']) await put(name);
    expect(watcher.end).toBe('too-slow');
    expect(configMaps().watcherCount()).toBe(0);
    expect(await drain(watcher)).toEqual(['ADDED b', 'ADDED c']);
  });

  it('lets a client that was far behind resume, however much it has missed', async () => {
    await start({ maxQueuedPerWatch: 2 });
    const a = await put('a');
    for (const name of ['b', 'c', 'd', 'e']) await put(name);
    const watcher = open(a);
    await put('f');
    expect(watcher.end).toBe('open');
    expect(await drain(watcher)).toEqual(['ADDED b', 'ADDED c', 'ADDED d', 'ADDED e', 'ADDED f']);
  });

  it('begins with the state and its end bookmark, then goes on', async () => {
    await start();
    await put('a');
    const revision = cache.revision;
    const watcher = configMaps().watch({ kind: 'state', endBookmark: true }, ALL, { bookmarks: true, revision });
    await put('b');
    expect(await drain(watcher)).toEqual(['ADDED a', `BOOKMARK ${listVersion(revision)}`, 'ADDED b']);
  });

  it('tells quiet watches that asked for bookmarks how far they are', async () => {
    await start({ bookmarkEveryMs: 1000 });
    const a = await put('a');
    const asked = open(a, true);
    const silent = open(a, false);
    await clock.advance(1000);
    expect(await drain(asked)).toEqual([`BOOKMARK ${listVersion(cache.revision)}`]);
    expect(await drain(silent)).toEqual([]);
  });

  it('sends no bookmark below the version at which a watch began, though the cache lags behind it', async () => {
    await start({ bookmarkEveryMs: 1000 });
    const a = await put('a');
    store.etcd.silenceWatches();
    const elsewhere = await put('b');
    expect(listVersion(cache.revision)).toBeLessThan(elsewhere);
    const ahead = follow(open(elsewhere, true));
    const behind = follow(open(a, true));
    const lagging = listVersion(cache.revision);
    await clock.advance(1000);
    expect(ahead).toEqual([`BOOKMARK ${elsewhere}`]);
    expect(behind).toEqual([`BOOKMARK ${lagging}`]);
    store.etcd.resumeWatches();
    await clock.advance(1000);
    expect(ahead).toEqual([`BOOKMARK ${elsewhere}`, `BOOKMARK ${listVersion(cache.revision)}`]);
    expect(behind).toEqual([`BOOKMARK ${lagging}`, 'ADDED b', `BOOKMARK ${listVersion(cache.revision)}`]);
  });

  it('keeps watches open over many bookmarks, whose versions only rise', async () => {
    await start({ bookmarkEveryMs: 1000 });
    const watcher = open(await put('a'), true);
    const seen = follow(watcher);
    for (let tick = 0; tick < 5; tick++) {
      await put(`b${tick}`);
      await clock.advance(1000);
    }
    const versions = seen.flatMap((item) => (item.startsWith('BOOKMARK ') ? [Number(item.slice(9))] : []));
    expect(watcher.end).toBe('open');
    expect(seen.filter((item) => item.startsWith('ADDED'))).toEqual([0, 1, 2, 3, 4].map((tick) => `ADDED b${tick}`));
    expect(versions).toHaveLength(5);
    expect(versions).toEqual([...new Set(versions)].sort((left, right) => left - right));
  });

  it('resumes no watch of a resource that was made late from before the first list', async () => {
    const before = await put('a');
    await put('b');
    await start();
    const things = { group: 'example.org', resource: 'things' };
    const options = { bookmarks: false, revision: cache.revision };
    const late = () => cache.resource(things).watch({ kind: 'after', resourceVersion: before }, ALL, options);
    expect(late).toThrow('too old resource version');
    const now = cache
      .resource(things)
      .watch({ kind: 'after', resourceVersion: listVersion(cache.revision) }, ALL, options);
    expect(now.end).toBe('open');
  });

  it('catches up with a write of another process that changed nothing it holds', async () => {
    await start();
    const key = '/gantry/allocations/test/x';
    const value = new TextEncoder().encode('{"metadata":{}}');
    const write = store.write({ key, expected: 'absent', value, writer: { name: 'test' } }, never);
    await clock.advance(10);
    await write;
    const caught = cache.catchUp(1000, never);
    await clock.advance(1000);
    expect(await caught).toBe(true);
  });

  it('says that a revision was not reached in time', async () => {
    await start();
    const reached = cache.reach(cache.revision + 100, 500, never);
    await clock.advance(600);
    expect(await reached).toBe(false);
  });

  it('lists again when history was compacted away, and ends its watches', async () => {
    await start();
    const a = await put('a');
    const watcher = open(a);
    store.etcd.silenceWatches();
    await put('b');
    const c = await put('c');
    store.etcd.compactHistory(Math.floor(c / 256));
    store.etcd.resumeWatches();
    await clock.advance(1000);
    expect(errors.length).toBe(1);
    expect(watcher.end).toBe('cache-reset');
    expect(configMaps().snapshot().length).toBe(3);
    expect(() => open(a)).toThrow('too old resource version');
  });

  it('makes the bytes of a revision once for all who ask', async () => {
    await start();
    await put('a');
    const entry = must(configMaps().get(objectKey(CONFIG_MAPS, 'n', 'a')), 'a');
    expect(entry.response.jsonLine()).toBe(entry.response.jsonLine());
    expect(new TextDecoder().decode(entry.response.json())).toMatch(/^\{"kind":"ConfigMap","apiVersion":"v1",/);
  });
});

describe('the metrics of the watch cache', () => {
  it('name what is held at the moment, and the bound of what is kept', async () => {
    const clock = new ManualClock();
    const store = createMemoryObjectStore({ clock });
    const encodeProtobuf = () => new Uint8Array(10);
    const cache = new WatchCache({
      store,
      clock,
      random: seededRandom(1),
      definitions: resources,
      encodeProtobuf,
      onError: () => {},
    });
    const stopping = new AbortController();
    const running = cache.run(stopping.signal);
    await clock.advance(10);
    const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a', namespace: 'n' } };
    const value = new TextEncoder().encode(JSON.stringify(object));
    const key = '/registry/configmaps/n/a';
    await store.write({ key, expected: 'absent', value, writer: { name: 'test' } }, stopping.signal);
    await clock.advance(10);
    cache.resource({ group: '', resource: 'configmaps' }).get(key)?.response.protobuf();
    const metrics = createMetrics();
    reportCache(metrics, cache);
    const { text } = await metrics.render();
    expect(text).toContain('gantry_watch_cache_objects{resource="configmaps"} 1');
    expect(text).toContain(`gantry_watch_cache_object_bytes{resource="configmaps"} ${value.length}`);
    expect(text).toContain('gantry_watch_cache_events{resource="configmaps"} 1');
    expect(text).toContain('gantry_watch_cache_representation_bytes 10');
    expect(text).toMatch(/gantry_watch_cache_representation_bytes_limit \d+/);
    stopping.abort();
    await clock.advance(1000);
    await running;
  });
});
