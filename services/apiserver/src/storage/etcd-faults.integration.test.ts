import { type Clock, systemClock, systemRandom, systemUid } from '@gantry/base';
import { connectEtcd, type Etcd, EtcdError, type KeyValueStore, type Transaction } from '@gantry/etcd';
import { type ClusterMember, type EtcdCluster, patiently, startEtcdCluster } from '@gantry/etcd/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ClosableObjectStore, createEtcdObjectStore, type EtcdObjectStoreOptions } from './etcd-object-store.ts';
import { INCARNATION_KEY, revisionOf } from './keys.ts';
import type { StoreWatchItem } from './object-store.ts';
import {
  collect,
  committed,
  create,
  expectWholeRevisions,
  pod,
  putKey,
  remove,
  update,
} from './testing/store-calls.ts';
import { TEST_SEALING } from './testing/test-sealing.ts';

const signal = (): AbortSignal => AbortSignal.timeout(120_000);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const NO_LEADER = '0';

let cluster: EtcdCluster;
let etcd: Etcd;
/** Keeps its connection to a member that does not respond, until that continues. A service takes it for lost after three seconds. */
let steady: Etcd;
let names = 0;

beforeAll(async () => {
  cluster = await startEtcdCluster();
}, 120_000);

afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
});

beforeEach(() => {
  etcd = connectEtcd({ endpoints: cluster.endpoints, clock: systemClock, random: systemRandom });
  const clock: Clock = { ...systemClock, setTimer: (ms, fire) => systemClock.setTimer(ms * 100, fire) };
  steady = connectEtcd({ endpoints: cluster.endpoints, clock, random: systemRandom });
});

afterEach(async () => {
  await etcd[Symbol.asyncDispose]();
  await steady[Symbol.asyncDispose]();
});

function openStore(options: Partial<EtcdObjectStoreOptions> = {}): ClosableObjectStore {
  return createEtcdObjectStore({
    etcd,
    clock: systemClock,
    random: systemRandom,
    newUid: systemUid,
    sealing: TEST_SEALING,
    ...options,
  });
}

function freshPod(): string {
  names += 1;
  return pod(`fault-${names}`);
}

/** The index of a member. Freezing a follower does not stop the others. Waits while etcd elects a leader, as on a busy machine at any time. */
async function findMember(role: 'leader' | 'follower'): Promise<number> {
  for (let member = 0; ; member = (member + 1) % etcd.memberCount) {
    const { memberId, leaderId } = await etcd.maintenance.status({ ...patiently(), member });
    if (leaderId !== NO_LEADER && (memberId === leaderId) === (role === 'leader')) return member;
  }
}

interface FirstGroup {
  readonly kv: KeyValueStore;
  /** Resolves when the group was sent. */
  readonly sent: Promise<void>;
  /** Resolves when the member has responded, so that the group has taken effect. */
  readonly answered: Promise<unknown>;
}

/**
 * Freezes `member` and then sends it the first group of any lane. After `patienceMs` the sender gets an unknown outcome, while the request
 * is still pending. So both sides see the effect of a lost connection.
 */
function freezeUnderFirstGroup(member: number, patienceMs: number): FirstGroup {
  const { promise: sent, resolve } = Promise.withResolvers<void>();
  const { promise: answered, resolve: settle } = Promise.withResolvers<unknown>();
  let state: 'waiting' | 'sent' = 'waiting';
  const transact: KeyValueStore['transact'] = async (transaction: Transaction, options) => {
    const isGroup = transaction.success.some((operation) => operation.kind === 'transaction');
    if (state === 'sent' || !isGroup) return etcd.kv.transact(transaction, options);
    state = 'sent';
    await cluster.members[member]?.freeze();
    const answer = steady.kv.transact(transaction, { ...patiently(), member });
    const outcome = answer.catch((error: unknown) => error);
    settle(outcome);
    setImmediate(resolve);
    const first = await Promise.race([outcome, pause(patienceMs)]);
    if (first === undefined) throw new EtcdError('outcome-unknown', 'no answer yet');
    return answer;
  };
  return { kv: { range: (request, options) => etcd.kv.range(request, options), transact }, sent, answered };
}

describe('a group in flight on a frozen member', () => {
  /** Whether a deleted object exists again after the frozen member continues. */
  const reappears = async (leaveOutForTest: readonly 'lane'[]): Promise<boolean> => {
    const key = freshPod();
    const member = await findMember('follower');
    // Open the connection to the member before it freezes.
    await steady.kv.range({ key }, { ...patiently(), member });
    const { kv, answered } = freezeUnderFirstGroup(member, 300);
    const store = openStore({ etcd: { ...etcd, kv }, attemptTimeoutMs: 700, leaveOutForTest });
    try {
      const version = await committed(store.write(create(key), signal()));
      await committed(store.write(remove(key, version), signal()));
      expect(await store.get(key, signal())).toBeNull();
    } finally {
      await cluster.members[member]?.thaw();
    }
    await answered;
    const stored = await store.get(key, signal());
    await store.close(AbortSignal.timeout(1000));
    return stored !== null;
  };

  it('lands once: nothing reappears when the member thaws', async () => {
    for (let round = 0; round < 3; round++) expect(await reappears([])).toBe(false);
  }, 180_000);

  it('brings the deleted object back when the lane compare is left out: it is the compare that protects', async () => {
    expect(await reappears(['lane'])).toBe(true);
  }, 180_000);
});

describe('a leader that was replaced while its write was under way', () => {
  const ELECTION = '/gantry/elections/kube-scheduler';

  /** Whether a write succeeds whose epoch ended after the write was sent and before it arrived. */
  const staleWriteLands = async (leaveOutForTest: readonly 'fence'[]): Promise<boolean> => {
    const key = freshPod();
    await putKey(etcd.kv, INCARNATION_KEY, 'one');
    const member = await findMember('follower');
    const others = { ...patiently(), member: member + 1 };
    const replaceLeader = async (): Promise<number> => {
      const gone = { kind: 'delete', key: ELECTION } as const;
      await etcd.kv.transact({ compare: [], success: [gone], failure: [] }, others);
      const put = { kind: 'put', key: ELECTION, value: Buffer.from('somebody') } as const;
      return (await etcd.kv.transact({ compare: [], success: [put], failure: [] }, others)).revision;
    };
    const epoch = await replaceLeader();
    await steady.kv.range({ key }, { ...patiently(), member });
    const { kv, sent } = freezeUnderFirstGroup(member, 20_000);
    const store = openStore({ etcd: { ...etcd, kv }, attemptTimeoutMs: 20_000, leaveOutForTest });
    const writer = { name: 'system:kube-scheduler', fence: { electionKey: ELECTION, epoch, incarnation: 'one' } };
    const write = store.write({ ...create(key), writer }, signal()).catch((error: unknown) => error);
    await sent;
    await pause(50);
    await replaceLeader();
    await cluster.members[member]?.thaw();
    await write;
    const landed = (await store.get(key, signal())) !== null;
    await store.close(AbortSignal.timeout(1000));
    return landed;
  };

  it('lands nothing of its old epoch', async () => {
    for (let round = 0; round < 3; round++) expect(await staleWriteLands([])).toBe(false);
  }, 180_000);

  it('lands it when the fence compare is left out: it is the compare that protects', async () => {
    expect(await staleWriteLands(['fence'])).toBe(true);
  }, 180_000);
});

describe('writes under the loss of a member', () => {
  it('loses nothing that was acknowledged', async () => {
    const store = openStore({ attemptTimeoutMs: 1000 });
    const acknowledged: string[] = [];
    let stop: 'no' | 'yes' = 'no';
    const writers = Array.from({ length: 16 }, async () => {
      while (stop === 'no') {
        const key = freshPod();
        const outcome = await store.write(create(key), signal());
        expect(outcome.kind).toBe('committed');
        acknowledged.push(key);
      }
    });
    await pause(300);
    const lost = cluster.members[await findMember('leader')];
    await lost?.kill();
    await pause(3000);
    stop = 'yes';
    await Promise.all(writers);
    await lost?.start();
    for (let i = 0; i < acknowledged.length; i += 97) {
      expect(await store.get(acknowledged[i] ?? '', signal())).not.toBeNull();
    }
    const { objects } = await store.list('/registry/pods/', {}, signal());
    const stored = new Set(objects.map((object) => object.key));
    expect(acknowledged.filter((key) => !stored.has(key))).toEqual([]);
    await store.close(AbortSignal.timeout(1000));
  }, 180_000);
});

describe('a watch', () => {
  it('goes on at another member without gaps or repeats when its own freezes, dies, is cut off or is replaced, while much is written', async () => {
    const store = openStore({ attemptTimeoutMs: 700 });
    const watchTimings = { idleMs: 400, answerMs: 400 };
    await using watching = connectEtcd({
      endpoints: cluster.endpoints,
      clock: systemClock,
      random: systemRandom,
      watchTimings,
    });
    const watcher = openStore({ etcd: watching });
    const start = await store.currentRevision(signal());
    const stop = new AbortController();
    const items: StoreWatchItem[] = [];
    const { promise: reachedEnd, resolve } = Promise.withResolvers<void>();
    let last = Number.POSITIVE_INFINITY;
    const seen = (async () => {
      for await (const item of watcher.watch(start, signal())) {
        items.push(item);
        if (item.kind === 'compacted' || item.revision >= last) break;
      }
      resolve();
    })();
    const written: number[] = [];
    const writers = Array.from({ length: 8 }, () => churnUntil(store, stop.signal, written));
    for (let i = 0; i < 6; i++) await disturb(i);
    // However long a busy machine takes for so much.
    while (written.length <= 100) await Promise.race([pause(50), Promise.all(writers)]);
    stop.abort();
    await Promise.all(writers);
    last = revisionOf(await committed(store.write(create(freshPod()), signal())));
    await reachedEnd;
    await seen;
    expectWholeRevisions(items);
    const events = items.flatMap((item) => (item.kind === 'events' ? item.events : []));
    const versions = events.map((event) => event.resourceVersion);
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
    const delivered = new Set(versions);
    expect(written.filter((version) => !delivered.has(version))).toEqual([]);
    const reference = await collect(store, start, last * 256);
    expect(events).toEqual(reference.events);
    await Promise.all([store.close(AbortSignal.timeout(1000)), watcher.close(AbortSignal.timeout(1000))]);
  }, 300_000);

  it('says where history begins when it was compacted while it was cut off', async () => {
    const store = openStore();
    const start = await store.currentRevision(signal());
    const first = await committed(store.write(create(freshPod()), signal()));
    const second = await committed(store.write(create(freshPod()), signal()));
    await etcd.maintenance.compact(revisionOf(second), patiently());
    const items: StoreWatchItem[] = [];
    for await (const item of store.watch(start, signal())) items.push(item);
    expect(items).toEqual([{ kind: 'compacted', compactRevision: revisionOf(second) }]);
    expect(revisionOf(first)).toBeLessThan(revisionOf(second));
    await store.close(AbortSignal.timeout(1000));
  });

  it('says how far it has come when asked, though nothing happens', async () => {
    const store = openStore();
    const version = await committed(store.write(create(freshPod()), signal()));
    await putKey(etcd.kv, '/elsewhere', 'x');
    const now = await store.currentRevision(signal());
    expect(now).toBeGreaterThan(revisionOf(version));
    const asking = setInterval(() => store.requestProgress(), 50);
    let reached = 0;
    for await (const item of store.watch(revisionOf(version), signal())) {
      if (item.kind === 'progress') reached = item.revision;
      if (reached >= now) break;
    }
    clearInterval(asking);
    expect(reached).toBeGreaterThanOrEqual(now);
    await store.close(AbortSignal.timeout(1000));
  });
});

/** The faults of members, one after the other. The cluster recovers in between. */
const FAULTS: readonly ((member: ClusterMember) => Promise<void>)[] = [
  async (member) => {
    await member.freeze();
    await pause(1200);
    await member.thaw();
  },
  async (member) => {
    await member.kill();
    await pause(300);
    await member.start();
  },
  async (member) => {
    await member.cutOff();
    await pause(1200);
    await member.rejoin();
  },
  async (member) => {
    await member.replace();
  },
];

/** Causes a fault of one member. Over all rounds every member has one, and two members have a second one. */
async function disturb(round: number): Promise<void> {
  const member = cluster.members[round % cluster.members.length];
  const fault = FAULTS[round % FAULTS.length];
  if (member === undefined || fault === undefined) throw new Error('no member');
  await fault(member);
  await pause(500);
}

/** Creates, updates and deletes pods sequentially. Adds the acknowledged versions to `versions`. */
async function churnUntil(store: ClosableObjectStore, stop: AbortSignal, versions: number[]): Promise<void> {
  while (!stop.aborted) {
    const key = freshPod();
    const first = await committed(store.write(create(key), signal()));
    const second = await committed(store.write(update(key, first), signal()));
    versions.push(first, second, await committed(store.write(remove(key, second), signal())));
  }
}
