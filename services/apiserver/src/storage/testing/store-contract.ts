import { append } from '@gantry/base';
import { parseJson } from '@gantry/apimachinery';
import type { JsonObject } from '@gantry/objects';
import type { KeyValueStore } from '@gantry/etcd';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ClosableObjectStore, EtcdObjectStoreOptions } from '../etcd-object-store.ts';
import type { GuardedWrite, ResourceVersion, StoreEvent, StoreWatchItem, WriteOutcome } from '../object-store.ts';
import { INCARNATION_KEY } from '../keys.ts';
import { revisionOf } from '../resource-version.ts';

/** One cluster (real or a model of it), empty at first, and stores over it. */
export interface StoreFixture {
  createStore(options?: Partial<Omit<EtcdObjectStoreOptions, 'etcd'>>): ClosableObjectStore;
  /** The keys beside the objects: election keys, incarnation. */
  readonly kv: KeyValueStore;
  compact(revision: number): Promise<void>;
  stop(): Promise<void>;
}

const NAMESPACE = '/registry/namespaces/ns';
const ELECTION = '/gantry/elections/kube-scheduler';
const signal = (): AbortSignal => AbortSignal.timeout(60_000);

/** What every object store promises. Run against the in-memory model and against a real cluster. */
export function describeObjectStore(name: string, createFixture: () => Promise<StoreFixture>): void {
  describe(name, () => {
    let fixture: StoreFixture;
    let store: ClosableObjectStore;

    beforeEach(async () => {
      fixture = await createFixture();
      store = fixture.createStore();
    });

    afterEach(async () => {
      await store.close(AbortSignal.timeout(30_000));
      await fixture.stop();
    });

    describe('writes', () => describeWrites(() => ({ fixture, store })));
    describe('fences', () => describeFences(() => ({ fixture, store })));
    describe('reads', () => describeReads(() => ({ fixture, store })));
    describe('watches', () => describeWatches(() => ({ fixture, store })));
  });
}

type Context = () => { readonly fixture: StoreFixture; readonly store: ClosableObjectStore };

function describeWrites(context: Context): void {
  it('creates what is absent and gives it a version that a read gives back', async () => {
    const { store } = context();
    const version = await committed(store.write(create(pod('a'), { spec: 1 }), signal()));
    const stored = await store.get(pod('a'), signal());
    expect(stored?.resourceVersion).toBe(version);
    expect(stored?.object).toEqual({ spec: 1, metadata: { name: 'a', resourceVersion: String(version) } });
  });

  it('keeps every digit of whole numbers that a double cannot hold', async () => {
    const { store } = context();
    const num = parseJson('{"least":-9223372036854775808,"most":9223372036854775807,"small":1}') as JsonObject;
    await committed(store.write(create(pod('a'), { num }), signal()));
    expect((await store.get(pod('a'), signal()))?.object['num']).toEqual(num);
  });

  it('answers a conflict with what is stored now', async () => {
    const { store } = context();
    const version = await committed(store.write(create(pod('a')), signal()));
    const again = await store.write(create(pod('a')), signal());
    expect(again).toMatchObject({ kind: 'conflict', current: { key: pod('a'), resourceVersion: version } });
    const gone = await store.write(update(pod('b'), version), signal());
    expect(gone).toEqual({ kind: 'conflict', current: null });
  });

  it('updates and deletes only the version that was read', async () => {
    const { store } = context();
    const first = await committed(store.write(create(pod('a')), signal()));
    const second = await committed(store.write(update(pod('a'), first, { spec: 2 }), signal()));
    expect(second).toBeGreaterThan(first);
    expect((await store.write(remove(pod('a'), first), signal())).kind).toBe('conflict');
    const third = await committed(store.write(remove(pod('a'), second), signal()));
    expect(third).toBeGreaterThan(second);
    expect(await store.get(pod('a'), signal())).toBeNull();
  });

  it('names a key that must exist and does not', async () => {
    const { store } = context();
    const write = { ...create(pod('a')), mustExist: [NAMESPACE] };
    expect(await store.write(write, signal())).toEqual({ kind: 'missing', key: NAMESPACE });
    await committed(store.write(create(NAMESPACE), signal()));
    await committed(store.write(write, signal()));
  });

  it('names a key that is not as it was read', async () => {
    const { store } = context();
    const read = await committed(store.write(create(NAMESPACE), signal()));
    const write = { ...create(pod('a')), unchanged: [{ key: NAMESPACE, resourceVersion: read }] };
    const changed = await committed(store.write(update(NAMESPACE, read), signal()));
    expect(await store.write(write, signal())).toEqual({ kind: 'missing', key: NAMESPACE });
    const now = { ...write, unchanged: [{ key: NAMESPACE, resourceVersion: changed }] };
    await committed(store.write(now, signal()));
  });

  it('stores one of two writes at the same moment that each need the other not to be stored', async () => {
    const { store } = context();
    for (let round = 0; round < 5; round++) {
      const [one, other] = [pod(`one${round}`), pod(`other${round}`)];
      const outcomes = await Promise.all([
        store.write({ ...create(one), unchanged: [{ key: other, resourceVersion: 'absent' }] }, signal()),
        store.write({ ...create(other), unchanged: [{ key: one, resourceVersion: 'absent' }] }, signal()),
      ]);
      expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['committed', 'missing']);
    }
  });

  it('names a key that is there and was not', async () => {
    const { store } = context();
    const write = { ...create(pod('a')), unchanged: [{ key: NAMESPACE, resourceVersion: 'absent' as const }] };
    const version = await committed(store.write(create(NAMESPACE), signal()));
    expect(await store.write(write, signal())).toEqual({ kind: 'missing', key: NAMESPACE });
    await committed(store.write(remove(NAMESPACE, version), signal()));
    await committed(store.write(write, signal()));
    // It is the object itself that is in the way, not what was absent.
    expect(await store.write(write, signal())).toMatchObject({ kind: 'conflict', current: { key: pod('a') } });
  });

  it('leaves nothing of a Secret readable in etcd, and gives it back as it was written', async () => {
    const { fixture, store } = context();
    const marker = 'a-marker-that-must-stay-sealed';
    const secret = '/registry/secrets/ns/s';
    const first = await committed(store.write(create(secret, { data: marker }), signal()));
    const second = await committed(store.write(update(secret, first, { data: `${marker}2` }), signal()));
    const conflict = await store.write(create(secret, { data: marker }), signal());
    expect(conflict).toMatchObject({ kind: 'conflict', current: { object: { data: `${marker}2` } } });
    await committed(store.write(create(pod('a'), { data: 'plain' }), signal()));
    expect((await store.get(secret, signal()))?.object['data']).toBe(`${marker}2`);
    expect((await store.list('/registry/secrets/', {}, signal())).objects[0]?.object['data']).toBe(`${marker}2`);
    for await (const item of store.watch(revisionOf(first) - 1, signal())) {
      const events = (item.kind === 'events' ? item.events : []).filter(({ key }) => key === secret);
      for (const event of events)
        expect(event).toMatchObject({ object: { data: expect.stringContaining(marker) as string } });
      if (events.some(({ resourceVersion }) => resourceVersion === second)) break;
    }
    for (const revision of [revisionOf(first), revisionOf(second)]) {
      const all = await fixture.kv.range({ key: '/', rangeEnd: '0', revision }, { signal: signal() });
      expect(all.kvs.map(({ key }) => key)).toContain(secret);
      for (const { value } of all.kvs) expect(Buffer.from(value).includes(marker)).toBe(false);
    }
    const [plain] = (await fixture.kv.range({ key: pod('a') }, { signal: signal() })).kvs;
    expect(Buffer.from(plain?.value ?? []).includes('plain')).toBe(true);
  });

  it('gives every write of a group its own result', async () => {
    const { store } = context();
    const taken = await committed(store.write(create(pod('taken')), signal()));
    const keys = Array.from({ length: 100 }, (_, i) => (i % 10 === 3 ? pod('taken') : pod(`w${i}`)));
    const outcomes = await Promise.all(keys.map((key) => store.write(create(key), signal())));
    const versions = new Set<ResourceVersion>();
    for (const [i, outcome] of outcomes.entries()) {
      if (i % 10 === 3) expect(outcome).toMatchObject({ kind: 'conflict', current: { resourceVersion: taken } });
      else versions.add(await committed(Promise.resolve(outcome)));
    }
    expect(versions.size).toBe(90);
    for (const [i, key] of keys.entries()) {
      const stored = await store.get(key, signal());
      if (i % 10 !== 3) expect(versions).toContain(stored?.resourceVersion);
    }
  });

  it('lets exactly one of many writers win a version', async () => {
    const { fixture, store } = context();
    const other = fixture.createStore();
    let version = await committed(store.write(create(pod('a')), signal()));
    for (let round = 0; round < 5; round++) {
      const writers = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? store : other));
      const outcomes = await Promise.all(
        writers.map((writer, i) => writer.write(update(pod('a'), version, { round, i }), signal())),
      );
      const winners = outcomes.filter((outcome) => outcome.kind === 'committed');
      expect(winners).toHaveLength(1);
      version = winners[0]?.kind === 'committed' ? winners[0].resourceVersion : 0;
    }
    await other.close(AbortSignal.timeout(30_000));
  });

  it('sends a write that is larger than a group alone', async () => {
    const { store } = context();
    const text = 'x'.repeat(1_200_000);
    const writes = [create(pod('big'), { text }), ...Array.from({ length: 5 }, (_, i) => create(pod(`small${i}`)))];
    const outcomes = await Promise.all(writes.map((write) => store.write(write, signal())));
    for (const outcome of outcomes) expect(outcome.kind).toBe('committed');
    const [big, small] = outcomes;
    if (big?.kind !== 'committed' || small?.kind !== 'committed') return;
    expect(revisionOf(big.resourceVersion)).not.toBe(revisionOf(small.resourceVersion));
  });

  it('refuses a write whose deadline has passed without sending it', async () => {
    const { store } = context();
    const gone = AbortSignal.abort();
    await expect(store.write(create(pod('a')), gone)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await store.get(pod('a'), signal())).toBeNull();
  });
}

function describeFences(context: Context): void {
  const lead = async (): Promise<number> => {
    const { kv } = context().fixture;
    await putKey(kv, INCARNATION_KEY, 'one');
    await removeKey(kv, ELECTION);
    return putKey(kv, ELECTION, 'leader');
  };
  const fenced = (write: GuardedWrite, epoch: number, incarnation = 'one'): GuardedWrite => ({
    ...write,
    writer: { name: 'system:kube-scheduler', fence: { electionKey: ELECTION, epoch, incarnation } },
  });

  it('lets the leader of the epoch write, and no leader of an older one', async () => {
    const { store } = context();
    const old = await lead();
    await committed(store.write(fenced(create(pod('a')), old), signal()));
    const now = await lead();
    expect(await store.write(fenced(create(pod('b')), old), signal())).toEqual({ kind: 'fenced' });
    await committed(store.write(fenced(create(pod('b')), now), signal()));
  });

  it('tells a lost fence from a conflict', async () => {
    const { store } = context();
    const epoch = await lead();
    await committed(store.write(create(pod('a')), signal()));
    expect((await store.write(fenced(create(pod('a')), epoch), signal())).kind).toBe('conflict');
    expect((await store.write(fenced(create(pod('a')), epoch + 1), signal())).kind).toBe('fenced');
  });

  it('refuses an epoch of another incarnation', async () => {
    const { store } = context();
    const epoch = await lead();
    expect(await store.write(fenced(create(pod('a')), epoch, 'two'), signal())).toEqual({ kind: 'fenced' });
  });

  it('refuses everything once the leader is gone', async () => {
    const { fixture, store } = context();
    const epoch = await lead();
    await removeKey(fixture.kv, ELECTION);
    expect(await store.write(fenced(create(pod('a')), epoch), signal())).toEqual({ kind: 'fenced' });
  });

  it('records who deleted, and in which epoch, in the same revision', async () => {
    const { fixture, store } = context();
    const epoch = await lead();
    const version = await committed(store.write(create(pod('a')), signal()));
    const deleted = await committed(store.write(fenced(remove(pod('a'), version), epoch), signal()));
    const record = await fixture.kv.range({ key: `/gantry/deleted${pod('a')}` }, { signal: signal() });
    expect(record.kvs[0]?.modRevision).toBe(revisionOf(deleted));
    expect(JSON.parse(Buffer.from(record.kvs[0]?.value ?? []).toString())).toMatchObject({
      electionKey: ELECTION,
      epoch,
      incarnation: 'one',
    });
  });

  it('lets a stale write land when the fence compare is left out: it is the compare that protects', async () => {
    const { fixture } = context();
    const unprotected = fixture.createStore({ leaveOutForTest: ['fence'] });
    const old = await lead();
    await lead();
    await committed(unprotected.write(fenced(create(pod('a')), old), signal()));
    await unprotected.close(AbortSignal.timeout(30_000));
  });
}

function describeReads(context: Context): void {
  it('pages over one revision, whatever is written meanwhile', async () => {
    const { store } = context();
    await Promise.all(Array.from({ length: 25 }, (_, i) => store.write(create(pod(`p${10 + i}`)), signal())));
    const first = await store.list('/registry/pods/', { limit: 10 }, signal());
    expect(first.objects).toHaveLength(10);
    expect(first.remaining).toBe(15);
    const taken = first.objects.map((object) => object.key);
    await committed(store.write(create(pod('p11a')), signal()));
    await committed(
      store.write(remove(pod('p34'), (await store.get(pod('p34'), signal()))?.resourceVersion ?? 0), signal()),
    );
    let next = first.next;
    while (next !== undefined) {
      const page = await store.list(
        '/registry/pods/',
        { limit: 10, startKey: next, revision: first.revision },
        signal(),
      );
      expect(page.revision).toBe(first.revision);
      append(
        taken,
        page.objects.map((object) => object.key),
      );
      next = page.next;
    }
    expect(taken).toEqual(Array.from({ length: 25 }, (_, i) => pod(`p${10 + i}`)));
  });

  it('says that a compacted revision is gone', async () => {
    const { fixture, store } = context();
    const first = await committed(store.write(create(pod('a')), signal()));
    const second = await committed(store.write(update(pod('a'), first), signal()));
    await fixture.compact(revisionOf(second));
    const past = store.list('/registry/', { revision: revisionOf(first) }, signal());
    await expect(past).rejects.toMatchObject({ code: 'compacted' });
  });

  it('knows a revision that is not older than any write that was answered before the question', async () => {
    const { fixture, store } = context();
    const other = fixture.createStore();
    for (let i = 0; i < 10; i++) {
      const version = await committed(other.write(create(pod(`p${i}`)), signal()));
      const answers = await Promise.all(Array.from({ length: 5 }, () => store.currentRevision(signal())));
      for (const revision of answers) expect(revision).toBeGreaterThanOrEqual(revisionOf(version));
    }
    await other.close(AbortSignal.timeout(30_000));
  });
}

function describeWatches(context: Context): void {
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

export function pod(name: string): string {
  return `/registry/pods/ns/${name}`;
}

function map(name: string): string {
  return `/registry/configmaps/ns/${name}`;
}

export function create(key: string, fields: JsonObject = {}): GuardedWrite {
  return { key, expected: 'absent', value: bytes(key, fields), mustExist: [], writer: { name: 'admin' } };
}

export function update(key: string, expected: ResourceVersion, fields: JsonObject = {}): GuardedWrite {
  return { key, expected, value: bytes(key, fields), mustExist: [], writer: { name: 'admin' } };
}

export function remove(key: string, expected: ResourceVersion): GuardedWrite {
  return { key, expected, value: null, mustExist: [], writer: { name: 'admin' } };
}

function bytes(key: string, fields: JsonObject): Uint8Array {
  return Buffer.from(JSON.stringify({ ...fields, metadata: { name: key.slice(key.lastIndexOf('/') + 1) } }));
}

/** The version of a write that must have been committed. */
export async function committed(outcome: Promise<WriteOutcome>): Promise<ResourceVersion> {
  const known = await outcome;
  expect(known).toMatchObject({ kind: 'committed' });
  return known.kind === 'committed' ? known.resourceVersion : 0;
}

/** Creates, updates and deletes `count` objects, many at a time, and resolves with the versions in the order of the answers. */
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

/** Everything that a watch after `revision` delivers up to `version`. */
export async function collect(
  store: ClosableObjectStore,
  revision: number,
  version: ResourceVersion,
): Promise<{ readonly events: readonly StoreEvent[]; readonly items: readonly StoreWatchItem[] }> {
  const events: StoreEvent[] = [];
  const items: StoreWatchItem[] = [];
  for await (const item of store.watch(revision, signal())) {
    items.push(item);
    if (item.kind === 'compacted') break;
    if (item.kind === 'events') append(events, item.events);
    if (item.revision >= revisionOf(version)) break;
  }
  return { events, items };
}

/** No revision's events are in two items. */
export function expectWholeRevisions(items: readonly StoreWatchItem[]): void {
  let last = 0;
  for (const item of items) {
    if (item.kind !== 'events') continue;
    const revisions = item.events.map((event) => revisionOf(event.resourceVersion));
    expect(Math.min(...revisions)).toBeGreaterThan(last);
    last = Math.max(...revisions);
    expect(item.revision).toBe(last);
  }
}

/** Puts a key that is no object; gives the revision. */
export async function putKey(kv: KeyValueStore, key: string, value: string): Promise<number> {
  const put = { kind: 'put', key, value: Buffer.from(value) } as const;
  return (await kv.transact({ compare: [], success: [put], failure: [] }, { signal: signal() })).revision;
}

async function removeKey(kv: KeyValueStore, key: string): Promise<void> {
  await kv.transact({ compare: [], success: [{ kind: 'delete', key }], failure: [] }, { signal: signal() });
}
