import { type ElectionEvent, seededRandom } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { describe, expect, it } from 'vitest';
import { EtcdError } from '../etcd-error.ts';
import type { KeyValueStore, Leases, Transaction, Watcher } from '../ports.ts';
import { MemoryEtcd } from '../testing/memory-etcd.ts';
import { createElection, electionKeyOf } from './election.ts';

const KEY = electionKeyOf('kube-scheduler');

/** Parts of the store that a test replaces, to observe calls or make them fail. */
interface Parts {
  readonly kv: KeyValueStore;
  readonly watcher: Watcher;
  readonly leases: Leases;
}

class Campaigner {
  readonly events: ElectionEvent[] = [];
  readonly stop = new AbortController();
  readonly done: Promise<void>;

  /** Times to live of the own lease, 0 after each term. */
  readonly leases: number[] = [];

  constructor(etcd: MemoryEtcd, clock: ManualClock, identity: string, replaced: Partial<Parts> = {}) {
    const parts = { memberCount: 3, kv: etcd, watcher: etcd, leases: etcd, ...replaced };
    const onLease = (ttlMs: number) => this.leases.push(ttlMs);
    const base = { etcd: parts, clock, random: seededRandom(1), component: 'kube-scheduler', identity };
    const options = { ...base, ttlMs: 2000, onLease };
    this.done = this.#run(createElection(options).campaign(this.stop.signal));
  }

  get kinds(): readonly string[] {
    return this.events.map((event) => event.kind);
  }

  async #run(events: AsyncIterable<ElectionEvent>): Promise<void> {
    for await (const event of events) this.events.push(event);
  }

  async resign(): Promise<void> {
    this.stop.abort();
    await this.done;
  }
}

/** Leases whose renewals fail while `reach` is down. */
function flakyLeases(etcd: MemoryEtcd): Leases & { reach: 'up' | 'down' } {
  return {
    reach: 'up',
    grant: (ttlMs, options) => etcd.grant(ttlMs, options),
    revoke: (id, options) => etcd.revoke(id, options),
    keepAlive(id, options) {
      if (this.reach === 'down') return Promise.reject(new EtcdError('unavailable', 'no response'));
      return etcd.keepAlive(id, options);
    },
  };
}

/** A watcher whose first watch fails. */
function watcherThatFails(etcd: MemoryEtcd, code: 'unavailable' | 'permission-denied'): Watcher {
  let watches = 0;
  return {
    watch(request, signal) {
      watches += 1;
      if (watches > 1) return etcd.watch(request, signal);
      const next = () => Promise.reject(new EtcdError(code, 'no watch'));
      return { requestProgress: () => undefined, [Symbol.asyncIterator]: () => ({ next }) };
    },
  };
}

async function startEtcd(): Promise<MemoryEtcd> {
  const etcd = new MemoryEtcd();
  const put = { kind: 'put', key: '/gantry/incarnation', value: Buffer.from('one') } as const;
  await etcd.transact({ compare: [], success: [put], failure: [] }, { signal: new AbortController().signal });
  return etcd;
}

async function remove(etcd: MemoryEtcd, key: string): Promise<void> {
  const operation = { kind: 'delete', key } as const;
  await etcd.transact({ compare: [], success: [operation], failure: [] }, { signal: new AbortController().signal });
}

describe('an election', () => {
  it('has one leader, and its epoch is the create revision of the key', async () => {
    const etcd = await startEtcd();
    const clock = new ManualClock();
    const [a, b] = [new Campaigner(etcd, clock, 'a'), new Campaigner(etcd, clock, 'b')];
    await clock.advance(10_000);
    const elected = [...a.events, ...b.events];
    expect(elected).toHaveLength(1);
    const { kvs } = await etcd.range({ key: KEY }, { signal: a.stop.signal });
    expect(elected[0]).toEqual({
      kind: 'elected',
      term: { electionKey: KEY, epoch: kvs[0]?.createRevision, incarnation: 'one' },
    });
    await Promise.all([a.resign(), b.resign()]);
  });

  it('passes to a standby at once when the leader resigns, in a higher epoch', async () => {
    const etcd = await startEtcd();
    const clock = new ManualClock();
    const a = new Campaigner(etcd, clock, 'a');
    await clock.advance(10);
    const b = new Campaigner(etcd, clock, 'b');
    await clock.advance(10);
    await a.resign();
    await clock.advance(0);
    await clock.advance(0);
    expect(a.kinds).toEqual(['elected']);
    expect(b.kinds).toEqual(['elected']);
    const epochs = [...a.events, ...b.events].map((event) => ('term' in event ? event.term.epoch : 0));
    expect(epochs[1]).toBeGreaterThan(epochs[0] ?? 0);
    await b.resign();
  });

  it('suspends a leader before its lease can have expired, and resumes it in the same epoch when the lease stands', async () => {
    const etcd = await startEtcd();
    const clock = new ManualClock();
    const leases = flakyLeases(etcd);
    const a = new Campaigner(etcd, clock, 'a', { leases });
    await clock.advance(600);
    leases.reach = 'down';
    await clock.advance(1200);
    expect(a.kinds).toEqual(['elected']);
    await clock.advance(700);
    expect(a.kinds).toEqual(['elected', 'suspended']);
    leases.reach = 'up';
    await clock.advance(200);
    expect(a.kinds).toEqual(['elected', 'suspended', 'resumed']);
    await a.resign();
  });

  it('says how long its lease lives, and when its term has ended', async () => {
    const etcd = await startEtcd();
    const clock = new ManualClock();
    const a = new Campaigner(etcd, clock, 'a');
    await clock.advance(600);
    await remove(etcd, KEY);
    await clock.advance(400);
    expect(a.leases).toEqual([2000, 0, 2000]);
    await a.resign();
    expect(a.leases).toEqual([2000, 0, 2000, 0]);
  });

  it('begins a term with a long lease when it was slow to win, at most four times the configured one', async () => {
    const etcd = await startEtcd();
    const clock = new ManualClock();
    const kv: KeyValueStore = {
      range: (request, options) => etcd.range(request, options),
      transact: async (transaction, options) => {
        await new Promise<void>((resolve) => clock.setTimer(900, resolve));
        return await etcd.transact(transaction, options);
      },
    };
    const a = new Campaigner(etcd, clock, 'a', { kv });
    await clock.advance(1000);
    await remove(etcd, KEY);
    await clock.advance(2000);
    expect(a.leases).toEqual([2000, 0, 4000]);
    await a.resign();
  });

  it('campaigns again after the lease has expired', async () => {
    const etcd = await startEtcd();
    const clock = new ManualClock();
    const leases = flakyLeases(etcd);
    const a = new Campaigner(etcd, clock, 'a', { leases });
    await clock.advance(10);
    const { kvs } = await etcd.range({ key: KEY }, { signal: a.stop.signal });
    leases.reach = 'down';
    etcd.silenceWatches();
    await clock.advance(2500);
    etcd.expire(kvs[0]?.lease ?? '');
    leases.reach = 'up';
    await clock.advance(200);
    expect(a.kinds.slice(0, 3)).toEqual(['elected', 'suspended', 'lost']);
    etcd.resumeWatches();
    await clock.advance(200);
    expect(a.kinds).toEqual(['elected', 'suspended', 'lost', 'elected']);
    await a.resign();
  });

  it('steps down when its key is deleted while its lease stands', async () => {
    const etcd = await startEtcd();
    const clock = new ManualClock();
    const a = new Campaigner(etcd, clock, 'a');
    await clock.advance(10);
    await remove(etcd, KEY);
    await clock.advance(200);
    expect(a.kinds).toEqual(['elected', 'lost', 'elected']);
    await a.resign();
  });

  it('finds out that it has won when the response was lost', async () => {
    const etcd = await startEtcd();
    const clock = new ManualClock();
    etcd.injectFault({ kind: 'answer-lost' });
    const a = new Campaigner(etcd, clock, 'a');
    await clock.advance(200);
    expect(a.kinds).toEqual(['elected']);
    await a.resign();
  });

  it('pauses between attempts to take the key whose outcome is unknown, longer each time', async () => {
    const etcd = await startEtcd();
    const clock = new ManualClock();
    const attempts: number[] = [];
    const isAttempt = (transaction: Transaction) => transaction.success.some((operation) => operation.kind === 'put');
    const kv: KeyValueStore = {
      range: (request, options) => etcd.range(request, options),
      transact: (transaction, options) => {
        if (!isAttempt(transaction)) return etcd.transact(transaction, options);
        attempts.push(clock.monotonicMs());
        return Promise.reject(new EtcdError('outcome-unknown', 'no answer'));
      },
    };
    const a = new Campaigner(etcd, clock, 'a', { kv });
    await clock.advance(10_000);
    expect(attempts.length).toBeGreaterThan(5);
    expect(attempts.length).toBeLessThan(30);
    await a.resign();
  });

  it('pauses after a race that it has lost, however often the winner goes at once', async () => {
    const etcd = await startEtcd();
    const clock = new ManualClock();
    let attempts = 0;
    const kv: KeyValueStore = {
      range: (request, options) => etcd.range(request, options),
      transact: async (transaction, options) => {
        if (!transaction.success.some((operation) => operation.kind === 'put'))
          return etcd.transact(transaction, options);
        attempts += 1;
        const taken = { kind: 'put', key: KEY, value: Buffer.from('other') } as const;
        await etcd.transact({ compare: [], success: [taken], failure: [] }, options);
        const result = await etcd.transact(transaction, options);
        await remove(etcd, KEY);
        return result;
      },
    };
    const a = new Campaigner(etcd, clock, 'a', { kv });
    await clock.advance(10_000);
    expect(a.kinds).toEqual([]);
    expect(attempts).toBeGreaterThan(5);
    expect(attempts).toBeLessThan(30);
    await a.resign();
  });

  it('pauses between terms that end at once', async () => {
    const etcd = await startEtcd();
    const clock = new ManualClock();
    const watcher: Watcher = {
      watch: (request, signal) => {
        if (request.startRevision > 2) void remove(etcd, KEY);
        return etcd.watch(request, signal);
      },
    };
    const a = new Campaigner(etcd, clock, 'a', { watcher });
    await clock.advance(10_000);
    expect(a.kinds.filter((kind) => kind === 'elected').length).toBeGreaterThan(5);
    expect(a.kinds.filter((kind) => kind === 'elected').length).toBeLessThan(30);
    await a.resign();
  });

  it('does not resume a term after a doubt when its key is not its own any more', async () => {
    const etcd = await startEtcd();
    const clock = new ManualClock();
    const leases = flakyLeases(etcd);
    const a = new Campaigner(etcd, clock, 'a', { leases });
    await clock.advance(10);
    leases.reach = 'down';
    etcd.silenceWatches();
    await clock.advance(2500);
    expect(a.kinds).toEqual(['elected', 'suspended']);
    // The lease is valid but the key belongs to another candidate, as after an operator's repair or a restore.
    await remove(etcd, KEY);
    const taken = { kind: 'put', key: KEY, value: Buffer.from('other') } as const;
    await etcd.transact({ compare: [], success: [taken], failure: [] }, { signal: a.stop.signal });
    leases.reach = 'up';
    await clock.advance(500);
    expect(a.kinds).toEqual(['elected', 'suspended', 'lost']);
    await a.resign();
  });

  it('still sees that its key is deleted after the history of its watch was compacted away', async () => {
    const etcd = await startEtcd();
    const clock = new ManualClock();
    const a = new Campaigner(etcd, clock, 'a');
    await clock.advance(10);
    etcd.silenceWatches();
    for (let i = 0; i < 5; i++) {
      const put = { kind: 'put', key: '/other', value: Buffer.from(String(i)) } as const;
      await etcd.transact({ compare: [], success: [put], failure: [] }, { signal: a.stop.signal });
    }
    etcd.compactHistory(etcd.revision);
    etcd.resumeWatches();
    await clock.advance(500);
    await remove(etcd, KEY);
    await clock.advance(10);
    expect(a.kinds).toEqual(['elected', 'lost']);
    await a.resign();
  });

  it('steps down when its key has become another one in history that was compacted away', async () => {
    const etcd = await startEtcd();
    const clock = new ManualClock();
    const a = new Campaigner(etcd, clock, 'a');
    await clock.advance(10);
    etcd.silenceWatches();
    await remove(etcd, KEY);
    const taken = { kind: 'put', key: KEY, value: Buffer.from('other') } as const;
    await etcd.transact({ compare: [], success: [taken], failure: [] }, { signal: a.stop.signal });
    etcd.compactHistory(etcd.revision);
    etcd.resumeWatches();
    await clock.advance(500);
    expect(a.kinds).toEqual(['elected', 'lost']);
    await a.resign();
  });

  it.each([
    ['is removed', (etcd: MemoryEtcd) => remove(etcd, '/gantry/incarnation')],
    [
      'is another one',
      async (etcd: MemoryEtcd) => {
        const put = { kind: 'put', key: '/gantry/incarnation', value: Buffer.from('two') } as const;
        await etcd.transact({ compare: [], success: [put], failure: [] }, { signal: new AbortController().signal });
      },
    ],
  ])('steps down when the incarnation %s, whose leaders alone may write', async (_, change) => {
    const etcd = await startEtcd();
    const clock = new ManualClock();
    const a = new Campaigner(etcd, clock, 'a');
    await clock.advance(10);
    await change(etcd);
    await clock.advance(10);
    expect(a.kinds).toEqual(['elected', 'lost']);
    await a.resign();
  });

  it('watches its key again when the watch has failed', async () => {
    const etcd = await startEtcd();
    const clock = new ManualClock();
    const a = new Campaigner(etcd, clock, 'a', { watcher: watcherThatFails(etcd, 'unavailable') });
    await clock.advance(200);
    await remove(etcd, KEY);
    await clock.advance(200);
    expect(a.kinds).toEqual(['elected', 'lost', 'elected']);
    await a.resign();
  });

  it('gives up a term whose key it may not watch', async () => {
    const etcd = await startEtcd();
    const clock = new ManualClock();
    const a = new Campaigner(etcd, clock, 'a', { watcher: watcherThatFails(etcd, 'permission-denied') });
    await clock.advance(10);
    expect(a.kinds).toEqual(['elected', 'lost']);
    expect((await etcd.range({ key: KEY }, { signal: a.stop.signal })).kvs).toEqual([]);
    await a.resign();
  });

  it('gives back the lease of an attempt that failed, at another member when one does not respond', async () => {
    const etcd = await startEtcd();
    const clock = new ManualClock();
    const kv: KeyValueStore = {
      range: (request, options) => etcd.range(request, options),
      transact: () => Promise.reject(new EtcdError('unavailable', 'no response')),
    };
    const revoked: string[] = [];
    const leases: Leases = {
      ...flakyLeases(etcd),
      revoke: (id, options) => {
        revoked.push(id);
        return revoked.length > 1 ? etcd.revoke(id, options) : Promise.reject(new EtcdError('unavailable', 'down'));
      },
    };
    const a = new Campaigner(etcd, clock, 'a', { kv, leases });
    await clock.advance(10);
    expect(revoked).toHaveLength(2);
    expect(new Set(revoked).size).toBe(1);
    await a.resign();
  });

  it('elects no leader before an incarnation exists', async () => {
    const etcd = new MemoryEtcd();
    const clock = new ManualClock();
    const a = new Campaigner(etcd, clock, 'a');
    await clock.advance(3000);
    expect(a.kinds).toEqual([]);
    const put = { kind: 'put', key: '/gantry/incarnation', value: Buffer.from('two') } as const;
    await etcd.transact({ compare: [], success: [put], failure: [] }, { signal: a.stop.signal });
    await clock.advance(2000);
    expect(a.events).toMatchObject([{ kind: 'elected', term: { incarnation: 'two' } }]);
    await a.resign();
  });
});
