import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Compare,
  type Etcd,
  type Operation,
  prefixEnd,
  type TransactionResult,
  type WatchItem,
} from '../ports.ts';
import { patiently } from './etcd-cluster.ts';

/** An implementation under test. The contract uses keys under `/contract/`, which must be empty at first. */
export interface EtcdFixture {
  readonly etcd: Pick<Etcd, 'kv' | 'watcher' | 'leases'>;
  compact(revision: number): Promise<void>;
  stop(): Promise<void>;
}

const ROOT = '/contract/';
const signal = (): AbortSignal => AbortSignal.timeout(60_000);
const key = (name: string): string => ROOT + name;
const put = (name: string, value = 'v'): Operation => ({ kind: 'put', key: key(name), value: Buffer.from(value) });
const remove = (name: string): Operation => ({ kind: 'delete', key: key(name) });
const read = (name: string): Operation => ({ kind: 'range', key: key(name) });
const absent = (name: string): Compare => ({ key: key(name), target: 'create-revision', equals: 0 });

/** The contract of the port. Runs against the in-memory model and a real cluster, so the model cannot claim more than etcd does. */
export function describeEtcd(name: string, createFixture: () => Promise<EtcdFixture>): void {
  describe(name, () => {
    let fixture: EtcdFixture;
    const context = () => fixture;

    beforeEach(async () => {
      fixture = await createFixture();
    });

    afterEach(async () => {
      await fixture.stop();
    });

    describe('a range', () => describeRange(context));
    describe('a transaction', () => describeTransaction(context));
    describe('a watch', () => describeWatch(context));
    describe('a lease', () => describeLease(context));
  });
}

type Context = () => EtcdFixture;

function transact(
  context: Context,
  success: readonly Operation[],
  compare: readonly Compare[] = [],
): Promise<TransactionResult> {
  return context().etcd.kv.transact({ compare, success, failure: [] }, patiently());
}

function describeRange(context: Context): void {
  it('is sorted, limited and counted', async () => {
    await transact(context, [put('b'), put('a'), put('c')]);
    const request = { key: ROOT, rangeEnd: prefixEnd(ROOT), limit: 2 };
    const page = await context().etcd.kv.range(request, patiently());
    expect(page.kvs.map((kv) => kv.key)).toEqual([key('a'), key('b')]);
    expect(page.count).toBe(3);
  });

  it('can leave out values, or everything but the count', async () => {
    await transact(context, [put('a', 'value')]);
    const { kv } = context().etcd;
    const keys = await kv.range({ key: key('a'), fields: 'keys' }, patiently());
    expect(keys.kvs.map(({ value }) => value.length)).toEqual([0]);
    const count = await kv.range({ key: key('a'), fields: 'count' }, patiently());
    expect([count.kvs.length, count.count]).toEqual([0, 1]);
  });

  it('sees the past as it was', async () => {
    const { revision } = await transact(context, [put('a', 'old')]);
    await transact(context, [put('a', 'new'), put('b')]);
    const past = await context().etcd.kv.range({ key: ROOT, rangeEnd: prefixEnd(ROOT), revision }, patiently());
    expect(past.kvs.map((kv) => [kv.key, Buffer.from(kv.value).toString()])).toEqual([[key('a'), 'old']]);
    expect(past.revision).toBe(revision + 1);
  });

  it('tells a compacted and a future revision apart', async () => {
    const { revision } = await transact(context, [put('a')]);
    await transact(context, [put('a')]);
    await context().compact(revision + 1);
    const at = (wanted: number) => context().etcd.kv.range({ key: key('a'), revision: wanted }, patiently());
    await expect(at(revision)).rejects.toMatchObject({ code: 'compacted' });
    await expect(at(revision + 100)).rejects.toMatchObject({ code: 'future-revision' });
    expect((await at(revision + 1)).kvs).toHaveLength(1);
  });
}

function describeTransaction(context: Context): void {
  it('takes one branch, whole, in one revision', async () => {
    const first = await transact(context, [put('a'), put('b')], [absent('a')]);
    expect(first.succeeded).toBe(true);
    const guarded = { compare: [absent('a')], success: [put('c')], failure: [read('a'), read('none')] };
    const second = await context().etcd.kv.transact(guarded, patiently());
    expect(second.succeeded).toBe(false);
    expect(second.revision).toBe(first.revision);
    const [found, none] = second.results;
    expect(found).toMatchObject({ kind: 'range', kvs: [{ key: key('a'), modRevision: first.revision }] });
    expect(none).toEqual({ kind: 'range', kvs: [] });
  });

  it('compares revisions, values and existence', async () => {
    const { revision } = await transact(context, [put('a', 'x')]);
    const holds = async (compare: Compare) => (await transact(context, [], [compare])).succeeded;
    expect(await holds({ key: key('a'), target: 'mod-revision', equals: revision })).toBe(true);
    expect(await holds({ key: key('a'), target: 'mod-revision', equals: revision - 1 })).toBe(false);
    expect(await holds({ key: key('a'), target: 'create-revision', equals: revision })).toBe(true);
    expect(await holds({ key: key('a'), target: 'value', equals: Buffer.from('x') })).toBe(true);
    expect(await holds({ key: key('a'), target: 'value', equals: Buffer.from('y') })).toBe(false);
    expect(await holds({ key: key('none'), target: 'value', equals: Buffer.from('') })).toBe(false);
    expect(await holds({ key: key('a'), target: 'exists' })).toBe(true);
    expect(await holds({ key: key('none'), target: 'exists' })).toBe(false);
  });

  it('gives every nested transaction its own branch', async () => {
    await transact(context, [put('taken')]);
    const nested = (name: string): Operation => ({
      kind: 'transaction',
      compare: [absent(name)],
      success: [put(name)],
      failure: [read(name)],
    });
    const { results, succeeded } = await transact(context, [nested('a'), nested('taken'), nested('b')]);
    expect(succeeded).toBe(true);
    expect(results.map((result) => result.kind === 'transaction' && result.succeeded)).toEqual([true, false, true]);
  });

  it('compares in nested transactions before anything is written', async () => {
    const nested = (name: string): Operation => ({
      kind: 'transaction',
      compare: [absent('first')],
      success: [put(name)],
      failure: [],
    });
    const { results } = await transact(context, [nested('first'), nested('second')]);
    expect(results.map((result) => result.kind === 'transaction' && result.succeeded)).toEqual([true, true]);
  });

  it('shows reads what it has written before them', async () => {
    await transact(context, [put('b')]);
    const { results, revision } = await transact(context, [put('a', 'mine'), read('a'), remove('b'), read('b')]);
    expect(results[1]).toMatchObject({ kind: 'range', kvs: [{ modRevision: revision }] });
    expect(results[3]).toEqual({ kind: 'range', kvs: [] });
  });

  it('fails as a whole when a key is put twice, even where it would not be', async () => {
    const nested: Operation = { kind: 'transaction', compare: [absent('a')], success: [], failure: [put('a')] };
    await expect(transact(context, [put('b'), put('a'), nested])).rejects.toMatchObject({ code: 'invalid' });
    expect((await transact(context, [read('b')])).results).toEqual([{ kind: 'range', kvs: [] }]);
  });

  it('fails as a whole when a key is both put and deleted', async () => {
    await expect(transact(context, [put('b'), put('a'), remove('a')])).rejects.toMatchObject({ code: 'invalid' });
    const nested: Operation = { kind: 'transaction', compare: [], success: [remove('a')], failure: [] };
    await expect(transact(context, [put('b'), nested, put('a')])).rejects.toMatchObject({ code: 'invalid' });
    expect((await transact(context, [read('b')])).results).toEqual([{ kind: 'range', kvs: [] }]);
  });

  it('fails as a whole when a lease is gone', async () => {
    const leased: Operation = { kind: 'put', key: key('a'), value: Buffer.from('v'), lease: '123456' };
    await expect(transact(context, [put('b'), leased])).rejects.toMatchObject({ code: 'lease-gone' });
    expect((await transact(context, [read('b')])).results).toEqual([{ kind: 'range', kvs: [] }]);
  });

  it('starts a key anew after its deletion', async () => {
    await transact(context, [put('a')]);
    const gone = await transact(context, [remove('a')]);
    expect(gone.results).toEqual([{ kind: 'delete', deleted: 1 }]);
    const again = await transact(context, [put('a')]);
    const { kvs } = await context().etcd.kv.range({ key: key('a') }, patiently());
    expect(kvs).toMatchObject([{ createRevision: again.revision, modRevision: again.revision }]);
  });
}

function describeWatch(context: Context): void {
  const take = async (startRevision: number, until: number): Promise<readonly WatchItem[]> => {
    const items: WatchItem[] = [];
    const request = { key: ROOT, rangeEnd: prefixEnd(ROOT), startRevision };
    for await (const item of context().etcd.watcher.watch(request, signal())) {
      items.push(item);
      if (item.kind === 'compacted' || item.revision >= until) break;
    }
    return items;
  };

  it('delivers the past and the present, in operation order within a revision', async () => {
    const first = await transact(context, [put('b'), put('a')]);
    const second = await transact(context, [remove('b'), put('c'), remove('a')]);
    const items = await take(first.revision, second.revision);
    const events = items.flatMap((item) => (item.kind === 'events' ? item.events : []));
    expect(events.map((event) => [event.kind, event.kind === 'put' ? event.kv.key : event.key])).toEqual([
      ['put', key('b')],
      ['put', key('a')],
      ['delete', key('b')],
      ['put', key('c')],
      ['delete', key('a')],
    ]);
  });

  it('keeps a revision of megabytes whole', async () => {
    const start = await transact(context, [put('start')]);
    const big = await transact(
      context,
      Array.from({ length: 60 }, (_, i) => put(`big${i}`, 'x'.repeat(100_000))),
    );
    const items = await take(start.revision + 1, big.revision);
    expect(items).toHaveLength(1);
    expect(items[0]).toMatchObject({ kind: 'events', revision: big.revision });
    expect(items[0]?.kind === 'events' && items[0].events.length).toBe(60);
  });

  it('tells progress when asked, and never more than it has delivered', async () => {
    const { revision } = await transact(context, [put('a')]);
    const request = { key: ROOT, rangeEnd: prefixEnd(ROOT), startRevision: revision };
    const watch = context().etcd.watcher.watch(request, signal());
    const kinds: string[] = [];
    for await (const item of watch) {
      kinds.push(item.kind);
      if (item.kind === 'progress') {
        expect(item.revision).toBeGreaterThanOrEqual(revision);
        break;
      }
      watch.requestProgress();
    }
    expect(kinds).toEqual(['events', 'progress']);
  });

  it('ends with where history begins when it starts before that', async () => {
    const { revision } = await transact(context, [put('a')]);
    await transact(context, [put('a')]);
    const last = await transact(context, [put('a')]);
    await context().compact(last.revision);
    expect(await take(revision, last.revision)).toEqual([{ kind: 'compacted', compactRevision: last.revision }]);
  });

  it('ends when aborted', async () => {
    const stop = new AbortController();
    const watch = context().etcd.watcher.watch({ key: ROOT, startRevision: 1_000_000 }, stop.signal);
    const done = (async () => {
      for await (const item of watch) expect(item.kind).not.toBe('events');
    })();
    setImmediate(() => stop.abort());
    await done;
  });
}

/** No lease ends by itself, however long a busy machine takes. */
const LEASE_MS = 60_000;

function describeLease(context: Context): void {
  it('carries keys until it is revoked', async () => {
    const { leases, kv } = context().etcd;
    const lease = await leases.grant(LEASE_MS, patiently());
    expect(lease.ttlMs).toBeGreaterThanOrEqual(LEASE_MS);
    await transact(context, [{ kind: 'put', key: key('a'), value: Buffer.from('v'), lease: lease.id }]);
    expect((await kv.range({ key: key('a') }, patiently())).kvs).toMatchObject([{ lease: lease.id }]);
    const { id, raftTerm } = await leases.keepAlive(lease.id, patiently());
    expect(id).toBe(lease.id);
    // On a busy machine, etcd may have elected another leader meanwhile.
    const later = await leases.grant(LEASE_MS, patiently());
    expect(lease.raftTerm).toBeGreaterThan(0);
    expect(raftTerm).toBeGreaterThanOrEqual(lease.raftTerm);
    expect(raftTerm).toBeLessThanOrEqual(later.raftTerm);
    for (const granted of [later, lease]) await leases.revoke(granted.id, patiently());
    expect((await kv.range({ key: key('a') }, patiently())).kvs).toEqual([]);
  });

  it('passes its key to another lease, and the key keeps its create revision', async () => {
    const { leases, kv } = context().etcd;
    const [first, second] = [await leases.grant(LEASE_MS, patiently()), await leases.grant(2 * LEASE_MS, patiently())];
    const put = (lease: string): Operation => ({ kind: 'put', key: key('a'), value: Buffer.from('v'), lease });
    const created = await transact(context, [put(first.id)]);
    await transact(context, [put(second.id)]);
    await leases.revoke(first.id, patiently());
    expect((await leases.keepAlive(second.id, patiently())).ttlMs).toBe(second.ttlMs);
    const { kvs } = await kv.range({ key: key('a') }, patiently());
    expect(kvs).toMatchObject([{ lease: second.id, createRevision: created.revision }]);
    await leases.revoke(second.id, patiently());
  });

  it('says so when it is gone, and is revoked twice without harm', async () => {
    const { leases } = context().etcd;
    const lease = await leases.grant(LEASE_MS, patiently());
    await leases.revoke(lease.id, patiently());
    await leases.revoke(lease.id, patiently());
    await expect(leases.keepAlive(lease.id, patiently())).rejects.toMatchObject({ code: 'lease-gone' });
  });
}
