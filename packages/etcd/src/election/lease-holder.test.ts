import { pause } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { EtcdError } from '../etcd-error.ts';
import type { CallOptions, KeyValueStore, Leases, Transaction, TransactionResult } from '../ports.ts';
import { MemoryEtcd } from '../testing/memory-etcd.ts';
import { type HeldLease, holdLease, type LeaseState } from './lease-holder.ts';
import { LeasePace } from './lease-pace.ts';

const KEY = '/gantry/elections/kube-test';
const TTL_MS = 2000;
const INCARNATION = { kind: 'put', key: '/gantry/incarnation', value: Buffer.from('one') } as const;

describe('a held lease', () => {
  let etcd: MemoryEtcd;
  let clock: ManualClock;
  /** Milliseconds until the response to a renewal arrives. */
  let answerMs: number;
  /** Members that give no answer in time. */
  let isSilent: boolean;
  let states: LeaseState[];
  /** Times to live of the leases that carried the key. */
  let leases: number[];
  let call: CallOptions;
  let held: HeldLease;
  let epoch: number;
  beforeEach(() => {
    etcd = new MemoryEtcd();
    clock = new ManualClock();
    call = { signal: new AbortController().signal };
    answerMs = 0;
    isSilent = false;
    states = [];
    leases = [];
  });

  const put = (lease: string) =>
    etcd.transact(
      { compare: [], success: [{ kind: 'put', key: KEY, value: Buffer.from('me'), lease }], failure: [] },
      call,
    );
  const read = async () => (await etcd.range({ key: KEY }, call)).kvs[0];
  /** Grants a lease, puts the key, and holds both. */
  const hold = async (kv: Partial<KeyValueStore> = {}) => {
    await etcd.transact({ compare: [], success: [INCARNATION], failure: [] }, call);
    const incarnation = { key: INCARNATION.key, modRevision: etcd.revision };
    const lease = await etcd.grant(TTL_MS, call);
    epoch = (await put(lease.id)).revision;
    const calls: Leases = {
      grant: etcd.grant.bind(etcd),
      revoke: etcd.revoke.bind(etcd),
      keepAlive: async (id, options) => {
        if (isSilent) {
          await pause(clock, options.timeoutMs ?? Infinity, options.signal);
          throw new EtcdError('unavailable', 'no response');
        }
        const renewed = await etcd.keepAlive(id, options);
        if (answerMs > 0) await new Promise<void>((resolve) => clock.setTimer(answerMs, resolve));
        return renewed;
      },
    };
    const store = { range: etcd.range.bind(etcd), transact: etcd.transact.bind(etcd), ...kv };
    held = holdLease(
      {
        etcd: { memberCount: 1, kv: store, watcher: etcd, leases: calls },
        clock,
        random: () => 0.5,
        key: KEY,
        identity: 'me',
        epoch,
        incarnation,
        pace: new LeasePace({ ttlMs: TTL_MS, maxTtlMs: 8000 }, clock),
        onLease: (ttlMs) => leases.push(ttlMs),
      },
      { lease, wantedMs: TTL_MS, sentAtMs: clock.monotonicMs(), lateMs: 0 },
    );
    void (async () => {
      for await (const state of held.states) states.push(state);
    })();
    return lease;
  };

  it('counts its time from the sending of a renewal, however late the answer comes', async () => {
    await hold();
    await clock.advance(400);
    // The renewal of 0.5 s is answered at 0.9 s. etcd counts from 0.5 s, and the next renewal is not answered in time.
    answerMs = 400;
    await clock.advance(550);
    answerMs = 60_000;
    await clock.advance(1400);
    expect(states).toEqual([]);
    await clock.advance(100);
    expect(states).toEqual(['in-doubt']);
    held.release();
  });

  it('is gone when its key was created again while it was in doubt', async () => {
    const lease = await hold();
    await clock.advance(600);
    answerMs = 60_000;
    etcd.silenceWatches();
    await clock.advance(1900);
    expect(states).toEqual(['in-doubt']);
    // The key was recreated although the lease is valid; the watch has not reported it.
    await etcd.transact({ compare: [], success: [{ kind: 'delete', key: KEY }], failure: [] }, call);
    await put(lease.id);
    answerMs = 0;
    await clock.advance(70_000);
    expect(states).toEqual(['in-doubt', 'gone']);
    held.release();
  });

  it('gets a longer time to live while renewals are late, within bounds, in the same epoch', async () => {
    await hold();
    answerMs = 600;
    await clock.advance(3000);
    expect(leases).toEqual([TTL_MS, 4000]);
    answerMs = 1500;
    await clock.advance(20_000);
    expect(leases).toEqual([TTL_MS, 4000, 8000]);
    expect(states).toEqual([]);
    expect(await read()).toMatchObject({ createRevision: epoch, lease: held.leases[0]?.id, value: Buffer.from('me') });
    // The leases that it had before have no key.
    for (const id of ['1', '2']) etcd.expire(id);
    await clock.advance(10_000);
    expect(states).toEqual([]);
    held.release();
  });

  it('gets its time to live back when renewals have been in time for 20 s', async () => {
    await hold();
    answerMs = 600;
    await clock.advance(1500);
    answerMs = 0;
    await clock.advance(19_000);
    expect(leases).toEqual([TTL_MS, 4000]);
    await clock.advance(3000);
    expect(leases).toEqual([TTL_MS, 4000, TTL_MS]);
    held.release();
  });

  it.each([
    // A follower reads its term, and then waits for a leader.
    ['the term that it knew before', 'after'],
    ['the new term', 'before'],
  ] as const)('keeps its time to live when etcd had no leader, and the member states %s', async (_, elected) => {
    await hold();
    await clock.advance(400);
    answerMs = 1200;
    if (elected === 'before') etcd.electLeader();
    await clock.advance(200);
    if (elected === 'after') etcd.electLeader();
    await clock.advance(1000);
    answerMs = 0;
    await clock.advance(10_000);
    expect(leases).toEqual([TTL_MS]);
    expect(states).toEqual([]);
    // What is late in the term of the new leader counts.
    answerMs = 600;
    await clock.advance(2000);
    expect(leases).toEqual([TTL_MS, 4000]);
    held.release();
  });

  it('renews again at once after a late renewal, to know whether etcd had no leader', async () => {
    await hold();
    isSilent = true;
    await clock.advance(999);
    isSilent = false;
    // The renewal of 0.5 s has failed, and is repeated after a pause of at most 0.1 s.
    await clock.advance(101);
    expect(leases).toEqual([TTL_MS, 4000]);
    held.release();
  });

  /** A store whose `nth` transaction has an unknown outcome; the transaction arrives when `land` is called. */
  const unknown = (nth: number) => {
    let land: (() => TransactionResult | EtcdError) | undefined;
    let count = 0;
    const transact = (transaction: Transaction, options: CallOptions) => {
      if (++count === nth) etcd.injectFault({ kind: 'late', held: (one) => (land = one) });
      return etcd.transact(transaction, options);
    };
    return { kv: { transact }, land: () => land?.() };
  };

  it('finds out whether a move with unknown outcome has happened', async () => {
    await hold();
    etcd.injectFault({ kind: 'answer-lost' });
    answerMs = 600;
    await clock.advance(1200);
    answerMs = 0;
    await clock.advance(4000);
    expect(leases).toEqual([TTL_MS, 4000]);
    expect(await read()).toMatchObject({ createRevision: epoch, lease: '2' });
    expect(held.leases.map(({ id }) => id)).toEqual(['2']);
    etcd.expire('1');
    await clock.advance(10_000);
    expect(states).toEqual([]);
    held.release();
  });

  it('makes a move fail that arrives after it was given up', async () => {
    const { kv, land } = unknown(1);
    await hold(kv);
    answerMs = 600;
    await clock.advance(1200);
    answerMs = 0;
    await clock.advance(4000);
    expect(land()).toBeInstanceOf(EtcdError);
    expect(leases).toEqual([TTL_MS, 4000]);
    expect(await read()).toMatchObject({ createRevision: epoch, lease: '3' });
    expect(states).toEqual([]);
    held.release();
  });

  it('is in doubt when the shorter of two leases that may carry the key can have expired', async () => {
    const { kv } = unknown(2);
    await hold({ ...kv, range: () => Promise.reject(new EtcdError('unavailable', 'no response')) });
    answerMs = 600;
    await clock.advance(1800);
    expect(leases).toEqual([TTL_MS, 4000]);
    answerMs = 0;
    // A renewal after 20 s moves the key to a lease of 2 s, and nobody finds out whether it has moved.
    for (let count = 0; count < 300 && held.leases.length === 1; count++) await clock.advance(100);
    expect(held.leases).toHaveLength(2);
    await clock.advance(1700);
    expect(states).toEqual([]);
    await clock.advance(200);
    expect(states).toEqual(['in-doubt']);
    held.release();
  });
});

describe('the pace of a lease', () => {
  const clock = new ManualClock();
  const pace = () => new LeasePace({ ttlMs: 2000, maxTtlMs: 10_000 }, clock);

  it('is the configured time to live while nothing is late', () => {
    const one = pace();
    one.observe(499);
    expect(one.ttlMs()).toBe(2000);
  });

  it('doubles until the latest renewal is late by less than a quarter, at most to the bound', () => {
    for (const [lateMs, ttlMs] of [
      [500, 4000],
      [999, 4000],
      [1000, 8000],
      [2000, 10_000],
      [60_000, 10_000],
    ] as const) {
      const one = pace();
      one.observe(lateMs);
      one.observe(0);
      expect(one.ttlMs(), `${lateMs} ms late`).toBe(ttlMs);
    }
  });

  it('is never shorter than the configured time to live', () => {
    const one = new LeasePace({ ttlMs: 5000, maxTtlMs: 3000 }, clock);
    one.observe(60_000);
    expect(one.ttlMs()).toBe(5000);
  });

  it('forgets a late renewal after 20 s, and then counts the later ones', async () => {
    const one = pace();
    one.observe(1500);
    await clock.advance(10_000);
    one.observe(700);
    await clock.advance(9_999);
    expect(one.ttlMs()).toBe(8000);
    await clock.advance(1);
    expect(one.ttlMs()).toBe(4000);
    await clock.advance(10_000);
    expect(one.ttlMs()).toBe(2000);
  });
});
