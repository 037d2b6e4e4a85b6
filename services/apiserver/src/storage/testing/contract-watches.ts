import { expect, it } from 'vitest';
import type { ClosableObjectStore } from '../etcd-object-store.ts';
import type { ResourceVersion, StoreWatchItem } from '../object-store.ts';
import { revisionOf } from '../keys.ts';
import { collect, committed, create, expectWholeRevisions, map, pod, remove, signal, update } from './store-calls.ts';
import type { Context } from './store-fixture.ts';

/** Watches: order, resumption, progress, compaction. */
export function describeWatches(context: Context): void {
  it('delivers every change once, in order, whole revisions at a time', async () => {
    const { store } = context();
    const start = await store.currentRevision(signal());
    const outcomes = await churn(store, 60);
    const { events, items } = await collect(store, start, outcomes.at(-1) ?? 0);
    const versions = events.map((event) => event.resourceVersion);
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
    expect(new Set(versions).size).toBe(versions.length);
    expect(versions).toEqual(expect.arrayContaining([...outcomes]));
    expectWholeRevisions(items);
  });

  it('numbers deletions as their writers were told', async () => {
    const { store } = context();
    const start = await store.currentRevision(signal());
    const created = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        committed(store.write(create(i % 2 === 0 ? pod(`p${i}`) : map(`m${i}`)), signal())),
      ),
    );
    const deleted = await Promise.all(
      created.flatMap((version, i) => [
        committed(store.write(remove(i % 2 === 0 ? pod(`p${i}`) : map(`m${i}`), version), signal())),
        committed(store.write(create(pod(`later${i}`)), signal())),
      ]),
    );
    const { events } = await collect(store, start, Math.max(...deleted));
    const seen = new Map(events.map((event) => [`${event.kind} ${event.key}`, event.resourceVersion]));
    for (let i = 0; i < 40; i++) {
      expect(seen.get(`delete ${i % 2 === 0 ? pod(`p${i}`) : map(`m${i}`)}`)).toBe(deleted[2 * i]);
      expect(seen.get(`put ${pod(`later${i}`)}`)).toBe(deleted[2 * i + 1]);
    }
    for (const root of ['/registry/pods/', '/registry/configmaps/']) {
      const versions = events.filter((event) => event.key.startsWith(root)).map((event) => event.resourceVersion);
      expect(new Set(versions).size).toBe(versions.length);
    }
  });

  it('resumes anywhere without gaps or repeats', async () => {
    const { store } = context();
    const start = await store.currentRevision(signal());
    const outcomes = await churn(store, 40);
    const all = await collect(store, start, outcomes.at(-1) ?? 0);
    const middle = all.events[Math.floor(all.events.length / 2)];
    const from = revisionOf(middle?.resourceVersion ?? 0);
    const rest = await collect(store, from, outcomes.at(-1) ?? 0);
    expect(rest.events).toEqual(all.events.filter((event) => revisionOf(event.resourceVersion) > from));
  });

  it('answers a request for progress with a revision up to which nothing is missing', async () => {
    const { store } = context();
    const first = await committed(store.write(create(pod('a')), signal()));
    let reached = 0;
    for await (const item of store.watch(revisionOf(first) - 1, signal())) {
      if (item.kind === 'compacted') break;
      reached = item.revision;
      if (item.kind === 'progress') break;
      store.requestProgress();
    }
    expect(reached).toBeGreaterThanOrEqual(revisionOf(first));
  });

  it('says where history begins when it is asked for less', async () => {
    const { fixture, store } = context();
    const first = await committed(store.write(create(pod('a')), signal()));
    const second = await committed(store.write(update(pod('a'), first), signal()));
    const third = await committed(store.write(update(pod('a'), second), signal()));
    await fixture.compact(revisionOf(third));
    const items: StoreWatchItem[] = [];
    for await (const item of store.watch(revisionOf(first), signal())) items.push(item);
    expect(items).toEqual([{ kind: 'compacted', compactRevision: revisionOf(third) }]);
  });

  it('ends quietly when it is aborted', async () => {
    const { store } = context();
    const stop = new AbortController();
    const items: StoreWatchItem[] = [];
    const done = (async () => {
      for await (const item of store.watch(1, stop.signal)) items.push(item);
    })();
    stop.abort();
    await done;
  });
}

/** Creates, updates and deletes `count` objects concurrently. Resolves with the versions in the order of the responses. */
async function churn(store: ClosableObjectStore, count: number): Promise<readonly ResourceVersion[]> {
  const versions: ResourceVersion[] = [];
  await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const first = await committed(store.write(create(pod(`c${i}`)), signal()));
      const second = await committed(store.write(update(pod(`c${i}`), first), signal()));
      versions.push(first, second);
      if (i % 2 === 0) versions.push(await committed(store.write(remove(pod(`c${i}`), second), signal())));
    }),
  );
  return versions.sort((a, b) => a - b);
}
