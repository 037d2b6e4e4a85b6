import { ManualClock } from '@gantry/base/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { CallOptions, Lease } from '../ports.ts';
import { MemoryEtcd } from '../testing/memory-etcd.ts';
import { holdLease, type LeaseState } from './lease-holder.ts';

const KEY = '/gantry/elections/kube-test';
const TTL_MS = 2000;

describe('a held lease', () => {
  let etcd: MemoryEtcd;
  let clock: ManualClock;
  let stop: AbortController;
  /** Milliseconds until the response to a renewal arrives. */
  let answerMs: number;
  let states: LeaseState[];
  let call: CallOptions;
  beforeEach(() => {
    etcd = new MemoryEtcd();
    clock = new ManualClock();
    stop = new AbortController();
    call = { signal: stop.signal };
    answerMs = 0;
    states = [];
  });

  const put = (lease: Lease, compare: 'absent' | 'any' = 'any') =>
    etcd.transact(
      {
        compare: compare === 'absent' ? [{ key: KEY, target: 'create-revision', equals: 0 }] : [],
        success: [{ kind: 'put', key: KEY, value: Buffer.from('me'), lease: lease.id }],
        failure: [],
      },
      call,
    );
  const hold = async () => {
    const lease = await etcd.grant(TTL_MS, call);
    const epoch = (await put(lease, 'absent')).revision;
    const leases: typeof etcd.keepAlive = async (id, options) => {
      const renewed = await etcd.keepAlive(id, options);
      if (answerMs > 0) await new Promise<void>((resolve) => clock.setTimer(answerMs, resolve));
      return renewed;
    };
    const parts = {
      memberCount: 1,
      kv: etcd,
      watcher: etcd,
      leases: { grant: etcd.grant.bind(etcd), revoke: etcd.revoke.bind(etcd), keepAlive: leases },
    };
    const options = { etcd: parts, clock, random: () => 0.5, key: KEY, epoch };
    const held = holdLease(options, lease, clock.monotonicMs());
    void (async () => {
      for await (const state of held.states) states.push(state);
    })();
    return { lease, release: () => held.release() };
  };

  it('counts its time from the sending of a renewal, however late the answer comes', async () => {
    const { release } = await hold();
    await clock.advance(400);
    // The renewal of 0.5 s is answered at 1.5 s. etcd counts from 0.5 s, and the next renewal is not answered in time.
    answerMs = 1000;
    await clock.advance(1150);
    answerMs = 60_000;
    await clock.advance(800);
    expect(states).toEqual([]);
    await clock.advance(100);
    expect(states).toEqual(['in-doubt']);
    release();
  });

  it('is gone when its key was created again while it was in doubt', async () => {
    const { lease, release } = await hold();
    await clock.advance(600);
    answerMs = 60_000;
    etcd.silenceWatches();
    await clock.advance(1900);
    expect(states).toEqual(['in-doubt']);
    // The key was recreated although the lease is valid; the watch has not reported it.
    await etcd.transact({ compare: [], success: [{ kind: 'delete', key: KEY }], failure: [] }, call);
    await put(lease);
    answerMs = 0;
    await clock.advance(70_000);
    expect(states).toEqual(['in-doubt', 'gone']);
    release();
  });
});
