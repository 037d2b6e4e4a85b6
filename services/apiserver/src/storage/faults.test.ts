import { EtcdError, type Operation, type Transaction, type TransactionResult } from '@gantry/etcd';
import { type MemoryEtcd } from '@gantry/etcd/testing';
import { describe, expect, it } from 'vitest';
import { createMemoryObjectStore, type MemoryObjectStore } from './testing/memory-store.ts';
import type { StoreWatchItem } from './object-store.ts';
import { revisionOf } from './keys.ts';
import { committed, create, pod, remove, update } from './testing/store-calls.ts';

const NAMESPACE = '/registry/namespaces/none';
const signal = (): AbortSignal => AbortSignal.timeout(30_000);

/** Whether a transaction contains writes of objects. The opening of a lane and a read do not. */
function isGroup(transaction: Transaction): boolean {
  return transaction.success.some((operation) => operation.kind === 'transaction');
}

function writesKey(key: string): (transaction: Transaction) => boolean {
  return (transaction) =>
    transaction.success.some(
      (operation) =>
        operation.kind === 'transaction' &&
        operation.success.some((inner) => inner.kind !== 'transaction' && inner.key === key),
    );
}

const groupSizeAbove =
  (size: number) =>
  (transaction: Transaction): boolean =>
    transaction.success.filter((operation) => operation.kind === 'transaction').length > size;

type Land = () => TransactionResult | EtcdError;

describe('a write whose answer is lost', () => {
  it('is committed once, with the version that it really has', async () => {
    const store = createMemoryObjectStore();
    store.etcd.injectFault({ kind: 'answer-lost' }, isGroup);
    const version = await committed(store.write(create(pod('a')), signal()));
    expect((await store.get(pod('a'), signal()))?.resourceVersion).toBe(version);
  });

  it('still gives every write of its group its own outcome', async () => {
    const store = createMemoryObjectStore();
    const taken = await committed(store.write(create(pod('taken')), signal()));
    const doomed = await committed(store.write(create(pod('doomed')), signal()));
    store.etcd.injectFault({ kind: 'answer-lost' }, groupSizeAbove(3));
    const outcomes = await Promise.all([
      store.write(create(pod('new')), signal()),
      store.write(create(pod('taken')), signal()),
      store.write(remove(pod('doomed'), doomed), signal()),
      store.write(update(pod('absent'), doomed), signal()),
      store.write({ ...create(pod('orphan')), unchanged: [{ key: NAMESPACE, resourceVersion: taken }] }, signal()),
    ]);
    expect(outcomes).toEqual([
      { kind: 'committed', resourceVersion: (await store.get(pod('new'), signal()))?.resourceVersion },
      { kind: 'conflict', current: expect.objectContaining({ resourceVersion: taken }) },
      { kind: 'committed', resourceVersion: expect.any(Number) },
      { kind: 'conflict', current: null },
      { kind: 'stale', key: NAMESPACE },
    ]);
    expect(await store.get(pod('doomed'), signal())).toBeNull();
  });

  it('stays unknown when history was compacted before it could be looked up', async () => {
    const store = createMemoryObjectStore();
    await committed(store.write(create(pod('first')), signal()));
    store.etcd.injectFault({ kind: 'answer-lost' }, isGroup);
    const unknown = store.write(create(pod('a')), signal());
    const compactOnce = new Promise<void>((resolve) => {
      store.etcd.injectFault({ kind: 'error', error: new EtcdError('compacted', 'gone') }, (transaction) => {
        const reads = transaction.success.every((operation) => operation.kind === 'range');
        if (reads && transaction.success.length > 0) resolve();
        return reads && transaction.success.length > 0;
      });
    });
    await expect(unknown).rejects.toMatchObject({ code: 'outcome-unknown' });
    await compactOnce;
  });
});

describe('a write that lands late', () => {
  const late = async (leaveOutForTest: readonly 'lane'[]): Promise<boolean> => {
    const store = createMemoryObjectStore({ leaveOutForTest });
    let land: Land | undefined;
    const held = (release: Land) => {
      land = release;
    };
    store.etcd.injectFault({ kind: 'late', held }, writesKey(pod('a')));
    const version = await committed(store.write(create(pod('a')), signal()));
    await committed(store.write(remove(pod('a'), version), signal()));
    expect(await store.get(pod('a'), signal())).toBeNull();
    land?.();
    return (await store.get(pod('a'), signal())) !== null;
  };

  it('does nothing: the deleted object does not reappear', async () => {
    expect(await late([])).toBe(false);
  });

  it('brings the deleted object back when the lane compare is left out: it is the compare that protects', async () => {
    expect(await late(['lane'])).toBe(true);
  });

  it('is counted once when the late copy is the one that lands', async () => {
    const store = createMemoryObjectStore();
    let land: Land | undefined;
    store.etcd.injectFault({ kind: 'late', held: (release) => (land = release) }, isGroup);
    store.etcd.injectFault(
      { kind: 'late', held: () => land?.() },
      (transaction) => land !== undefined && isGroup(transaction),
    );
    const version = await committed(store.write(create(pod('a')), signal()));
    expect((await store.get(pod('a'), signal()))?.resourceVersion).toBe(version);
  });

  it('is told as unknown past its deadline, and its lane goes on when the truth is known', async () => {
    const store = createMemoryObjectStore({ lanes: 1 });
    const down = new EtcdError('outcome-unknown', 'no answer');
    let state: 'down' | 'up' = 'down';
    for (let i = 0; i < 50; i++) {
      store.etcd.injectFault({ kind: 'error', error: down }, (transaction) => isGroup(transaction) && state === 'down');
    }
    const deadline = new AbortController();
    const unknown = store.write(create(pod('a')), deadline.signal);
    const told = expect(unknown).rejects.toMatchObject({ code: 'outcome-unknown' });
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    const queued = store.write(create(pod('b')), signal());
    deadline.abort();
    await told;
    state = 'up';
    await committed(queued);
    expect(await store.get(pod('a'), signal())).not.toBeNull();
  });
});

describe('a group that fails as a whole', () => {
  it('is sent again one by one, so that only the culprit fails', async () => {
    const store = createMemoryObjectStore();
    const tooLarge = new EtcdError('too-large', 'etcdserver: request is too large');
    store.etcd.injectFault({ kind: 'error', error: tooLarge }, groupSizeAbove(4));
    store.etcd.injectFault(
      { kind: 'error', error: tooLarge },
      (transaction) => !groupSizeAbove(1)(transaction) && writesKey(pod('p3'))(transaction),
    );
    const results = await Promise.allSettled(
      Array.from({ length: 6 }, (_, i) => store.write(create(pod(`p${i}`)), signal())),
    );
    for (const [i, result] of results.entries()) {
      if (i === 3) expect(result).toMatchObject({ status: 'rejected', reason: { code: 'too-large' } });
      else expect(result).toMatchObject({ status: 'fulfilled', value: { kind: 'committed' } });
    }
  });

  it('never lands later when an earlier copy may still be under way', async () => {
    const store = createMemoryObjectStore();
    let land: Land | undefined;
    store.etcd.injectFault({ kind: 'late', held: (release) => (land = release) }, isGroup);
    const invalid = new EtcdError('permission-denied', 'etcdserver: permission denied');
    store.etcd.injectFault(
      { kind: 'error', error: invalid },
      (transaction) => land !== undefined && isGroup(transaction),
    );
    await expect(store.write(create(pod('a')), signal())).rejects.toMatchObject({ code: 'unavailable' });
    land?.();
    expect(await store.get(pod('a'), signal())).toBeNull();
    await committed(store.write(create(pod('b')), signal()));
  });

  it('says that there is no space, and still deletes', async () => {
    const store = createMemoryObjectStore();
    const version = await committed(store.write(create(pod('a')), signal()));
    const putsSomething = (transaction: Transaction): boolean =>
      transaction.success.some((operation) => operation.kind === 'put');
    for (let i = 0; i < 20; i++) {
      store.etcd.injectFault(
        { kind: 'error', error: new EtcdError('no-space', 'database space exceeded') },
        putsSomething,
      );
    }
    await expect(store.write(create(pod('b')), signal())).rejects.toMatchObject({ code: 'no-space' });
    await committed(store.write(remove(pod('a'), version), signal()));
    expect(await store.get(pod('a'), signal())).toBeNull();
  });
});

describe('an etcd without space', () => {
  const noSpace = () => new EtcdError('no-space', 'database space exceeded');
  /** Makes every put fail until the returned function is called. */
  const fill = (store: MemoryObjectStore): (() => void) => {
    let state: 'full' | 'free' = 'full';
    const puts = (operations: readonly Operation[]): boolean =>
      operations.some((one) => one.kind === 'put' || (one.kind === 'transaction' && puts(one.success)));
    for (let i = 0; i < 1000; i++) {
      store.etcd.injectFault(
        { kind: 'error', error: noSpace() },
        (transaction) => state === 'full' && puts(transaction.success),
      );
    }
    return () => {
      state = 'free';
    };
  };

  it('leaves no lane stuck that was in doubt: its writes fail, deletes land, and no late copy does', async () => {
    const store = createMemoryObjectStore({ lanes: 1 });
    const version = await committed(store.write(create(pod('a')), signal()));
    let land: Land | undefined;
    store.etcd.injectFault({ kind: 'late', held: (release) => (land = release) }, writesKey(pod('b')));
    const doubtful = store.write(create(pod('b')), signal());
    while (land === undefined) await new Promise((resolve) => setImmediate(resolve));
    const free = fill(store);
    await expect(doubtful).rejects.toMatchObject({ code: 'no-space' });
    await committed(store.write(remove(pod('a'), version), signal()));
    expect(await store.get(pod('a'), signal())).toBeNull();
    free();
    land();
    expect(await store.get(pod('b'), signal())).toBeNull();
    await committed(store.write(create(pod('c')), signal()));
  });

  it('deletes through a lane in doubt about a deletion', async () => {
    const store = createMemoryObjectStore({ lanes: 1 });
    const version = await committed(store.write(create(pod('a')), signal()));
    let land: Land | undefined;
    store.etcd.injectFault({ kind: 'late', held: (release) => (land = release) }, writesKey(pod('a')));
    const deletion = store.write(remove(pod('a'), version), signal());
    while (land === undefined) await new Promise((resolve) => setImmediate(resolve));
    const free = fill(store);
    await committed(deletion);
    free();
    const again = await committed(store.write(create(pod('a')), signal()));
    land();
    expect((await store.get(pod('a'), signal()))?.resourceVersion).toBe(again);
  });

  it('finds that a write in doubt has landed', async () => {
    const store = createMemoryObjectStore({ lanes: 1 });
    await committed(store.write(create(pod('a')), signal()));
    let free = (): void => undefined;
    store.etcd.injectFault({ kind: 'answer-lost' }, writesKey(pod('b')));
    const doubtful = store.write(create(pod('b')), signal());
    await Promise.resolve();
    setImmediate(() => {
      free = fill(store);
    });
    await committed(doubtful);
    free();
    expect(await store.get(pod('b'), signal())).not.toBeNull();
  });

  it('deletes through a lane that cannot be opened', async () => {
    const before = createMemoryObjectStore({ lanes: 1 });
    const version = await committed(before.write(create(pod('a')), signal()));
    const after = createMemoryObjectStore({ lanes: 1, etcd: before.etcd });
    const free = fill(after);
    await expect(after.write(create(pod('b')), signal())).rejects.toMatchObject({ code: 'no-space' });
    await committed(after.write(remove(pod('a'), version), signal()));
    free();
    await committed(after.write(create(pod('b')), signal()));
  });
});

describe('a lane whose key was removed', () => {
  const removeLanes = async (etcd: MemoryEtcd): Promise<void> => {
    const { kvs } = await etcd.range({ key: '/gantry/commit/', rangeEnd: '/gantry/commit0' }, { signal: signal() });
    const success = kvs.map(({ key }) => ({ kind: 'delete', key }) as const);
    await etcd.transact({ compare: [], success, failure: [] }, { signal: signal() });
  };

  it('is opened again when nothing of it was in doubt', async () => {
    const store = createMemoryObjectStore({ lanes: 1 });
    await committed(store.write(create(pod('a')), signal()));
    await removeLanes(store.etcd);
    await committed(store.write(create(pod('b')), signal()));
  });

  it('leaves a write in doubt unknown, and lets no late copy land', async () => {
    const store = createMemoryObjectStore({ lanes: 1 });
    await committed(store.write(create(pod('first')), signal()));
    let land: Land | undefined;
    const held = (release: Land) => {
      land = release;
    };
    store.etcd.injectFault({ kind: 'late', held }, writesKey(pod('a')));
    const write = store.write(create(pod('a')), signal());
    const told = expect(write).rejects.toMatchObject({ code: 'outcome-unknown' });
    while (land === undefined) await new Promise((resolve) => setImmediate(resolve));
    await removeLanes(store.etcd);
    await told;
    await committed(store.write(create(pod('b')), signal()));
    land();
    expect(await store.get(pod('a'), signal())).toBeNull();
  });
});

describe('a watch that stays silent', () => {
  it('delivers what it owes, whole and in order, once it speaks again', async () => {
    const store = createMemoryObjectStore();
    const first = await committed(store.write(create(pod('a')), signal()));
    store.etcd.silenceWatches();
    const items: StoreWatchItem[] = [];
    const stop = new AbortController();
    const watching = (async () => {
      for await (const item of store.watch(revisionOf(first), stop.signal)) {
        items.push(item);
        if (item.kind === 'events' && item.events.some((event) => event.key === pod('c'))) stop.abort();
      }
    })();
    await committed(store.write(update(pod('a'), first), signal()));
    await committed(store.write(create(pod('c')), signal()));
    expect(items).toEqual([]);
    store.etcd.resumeWatches();
    await watching;
    const keys = items.flatMap((item) => (item.kind === 'events' ? item.events.map((event) => event.key) : []));
    expect(keys).toEqual([pod('a'), pod('c')]);
  });
});
