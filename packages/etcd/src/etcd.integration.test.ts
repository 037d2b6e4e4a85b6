import { type ElectionEvent, systemClock, systemRandom } from '@gantry/base';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixedTls, type TlsMaterial, type TlsSource } from '@gantry/tls';
import { connectEtcd } from './client/connect-etcd.ts';
import { createElection, electionKeyOf } from './election/election.ts';
import { type Etcd, prefixEnd } from './ports.ts';
import { type EtcdCluster, patiently, startEtcdCluster } from './testing/etcd-cluster.ts';
import { createTestAuthority, type Issue } from './testing/certificates.ts';
import { describeEtcd } from './testing/etcd-contract.ts';

const signal = (): AbortSignal => AbortSignal.timeout(60_000);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

let cluster: EtcdCluster;

beforeAll(async () => {
  cluster = await startEtcdCluster();
}, 120_000);

afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
});

function connect(): Etcd {
  return connectEtcd({ endpoints: cluster.endpoints, clock: systemClock, random: systemRandom });
}

const A_LEADER: unknown = expect.stringMatching(/^[1-9]/);

/** Who leads, as these members say. They learn one after the other of an election, which a busy machine has at any time. */
async function leadersOf(etcd: Etcd, members: readonly number[]): Promise<readonly string[]> {
  const statusOf = (member: number) => etcd.maintenance.status({ ...patiently(), member, timeoutMs: 5000 });
  return [...new Set((await Promise.all(members.map(statusOf))).map(({ leaderId }) => leaderId))];
}

async function clear(etcd: Etcd): Promise<void> {
  const { kvs } = await etcd.kv.range({ key: '/', rangeEnd: prefixEnd('/'), fields: 'keys' }, patiently());
  for (const { key } of kvs) {
    await etcd.kv.transact({ compare: [], success: [{ kind: 'delete', key }], failure: [] }, patiently());
  }
}

describeEtcd('a real etcd', async () => {
  const etcd = connect();
  await clear(etcd);
  return {
    etcd,
    compact: (revision) => etcd.maintenance.compact(revision, patiently()),
    stop: async () => etcd[Symbol.asyncDispose](),
  };
});

describe('a connection to a real etcd', () => {
  it('knows the state of every member', async () => {
    await using etcd = connect();
    await expect.poll(() => leadersOf(etcd, [0, 1, 2])).toEqual([A_LEADER]);
    const statuses = await Promise.all([0, 1, 2].map((member) => etcd.maintenance.status({ ...patiently(), member })));
    expect(new Set(statuses.map((status) => status.memberId)).size).toBe(3);
    expect(statuses.every((status) => /^3\.\d+\.\d+/.test(status.version) && status.alarms.length === 0)).toBe(true);
  });

  it('reads on at another member when one freezes', async () => {
    await using etcd = connect();
    for (const member of cluster.members) {
      await member.freeze();
      try {
        const { revision } = await etcd.kv.range({ key: '/x' }, patiently());
        expect(revision).toBeGreaterThan(0);
      } finally {
        await member.thaw();
      }
      await pause(1500);
    }
  }, 180_000);

  it('reads on at another member when one is cut off or replaced, and reaches that one again afterwards', async () => {
    await using etcd = connect();
    const [first, second] = cluster.members;
    await first?.cutOff();
    const { revision } = await etcd.kv.range({ key: '/x' }, patiently());
    expect(revision).toBeGreaterThan(0);
    await first?.rejoin();
    const before = await etcd.maintenance.status({ ...patiently(), member: 1 });
    await second?.replace();
    // A lost connection is reopened after a back-off.
    await expect.poll(() => leadersOf(etcd, [0, 1]), { timeout: 120_000 }).toEqual([A_LEADER]);
    const replaced = await etcd.maintenance.status({ ...patiently(), member: 1 });
    expect(replaced.memberId).not.toBe(before.memberId);
  }, 180_000);

  it('reads ranges that are larger than a gRPC message usually may be', async () => {
    await using etcd = connect();
    await clear(etcd);
    for (let i = 0; i < 8; i++) {
      const success = [{ kind: 'put', key: `/large/${i}`, value: Buffer.alloc(1_000_000) } as const];
      await etcd.kv.transact({ compare: [], success, failure: [] }, patiently());
    }
    const { kvs } = await etcd.kv.range({ key: '/large/', rangeEnd: '/large0' }, patiently());
    expect(kvs).toHaveLength(8);
  });

  it('tells a request that is too large, and that nothing of it was written', async () => {
    await using etcd = connect();
    const success = [{ kind: 'put', key: '/too-large', value: Buffer.alloc(9_000_000) } as const];
    const write = etcd.kv.transact({ compare: [], success, failure: [] }, patiently());
    await expect(write).rejects.toMatchObject({ code: 'too-large' });
  });

  it('defragments a member and compacts twice without harm', async () => {
    await using etcd = connect();
    const { revision } = await etcd.kv.range({ key: '/x' }, patiently());
    await etcd.maintenance.compact(revision, patiently());
    await etcd.maintenance.compact(revision, patiently());
    await etcd.maintenance.defragment({ ...patiently(), member: 1 });
  });
});

describe('an election over a real etcd', () => {
  const campaign = (etcd: Etcd, identity: string, ttlMs = 2000) => {
    const stop = new AbortController();
    const events: (ElectionEvent & { readonly atMs: number })[] = [];
    const election = createElection({
      etcd,
      clock: systemClock,
      random: systemRandom,
      component: 'trial',
      identity,
      ttlMs,
    });
    const done = (async () => {
      for await (const event of election.campaign(stop.signal)) events.push({ ...event, atMs: performance.now() });
    })();
    const resign = async () => {
      stop.abort();
      await done;
    };
    return { events, resign };
  };

  const until = async (condition: () => boolean, ms = 60_000): Promise<void> => {
    const deadline = performance.now() + ms;
    while (!condition() && performance.now() < deadline) await pause(5);
    expect(condition()).toBe(true);
  };

  const prepare = async (etcd: Etcd): Promise<void> => {
    await clear(etcd);
    const success = [{ kind: 'put', key: '/gantry/incarnation', value: Buffer.from('one') } as const];
    await etcd.kv.transact({ compare: [], success, failure: [] }, patiently());
  };

  it('hands over at once when the leader resigns, long before its lease ends', async () => {
    await using etcd = connect();
    await using other = connect();
    await prepare(etcd);
    const first = campaign(etcd, 'first', 300_000);
    await until(() => first.events.length > 0);
    const second = campaign(other, 'second');
    await pause(200);
    const startMs = performance.now();
    await first.resign();
    await until(() => second.events.length > 0);
    expect((second.events[0]?.atMs ?? 0) - startMs).toBeLessThan(60_000);
    const epoch = (event: ElectionEvent | undefined) => (event?.kind === 'elected' ? event.term.epoch : 0);
    expect(epoch(second.events[0])).toBeGreaterThan(epoch(first.events[0]));
    await second.resign();
    const { kvs } = await etcd.kv.range({ key: electionKeyOf('trial') }, patiently());
    expect(kvs).toEqual([]);
  });

  it('keeps its leader through the freezing of any one member', async () => {
    await using etcd = connect();
    await prepare(etcd);
    // Longer than the freeze: if etcd's own leader returns before the others elect another, it expires leases whose time has passed.
    const leader = campaign(etcd, 'leader', 30_000);
    await until(() => leader.events.length > 0);
    for (const member of cluster.members) {
      await member.freeze();
      await pause(2500);
      await member.thaw();
      await pause(1500);
    }
    const last = leader.events.at(-1)?.kind;
    expect(['elected', 'resumed']).toContain(last);
    expect(leader.events.filter((event) => event.kind === 'elected')).toHaveLength(1);
    await leader.resign();
  }, 180_000);

  it('gives way when its lease is revoked, and stands again', async () => {
    await using etcd = connect();
    await prepare(etcd);
    // Long enough that a busy machine does not lose it by itself.
    const leader = campaign(etcd, 'leader', 30_000);
    await until(() => leader.events.length > 0);
    const { kvs } = await etcd.kv.range({ key: electionKeyOf('trial') }, patiently());
    await etcd.leases.revoke(kvs[0]?.lease ?? '', patiently());
    await until(() => leader.events.length >= 3);
    expect(leader.events.map((event) => event.kind)).toEqual(['elected', 'lost', 'elected']);
    await leader.resign();
  });
});

describe('an etcd with certificates and authentication', () => {
  let secured: EtcdCluster;
  let certificate: Issue;

  const connectAs = (tls: TlsSource): Etcd =>
    connectEtcd({ endpoints: secured.endpoints, clock: systemClock, random: systemRandom, tls });

  beforeAll(async () => {
    certificate = await createTestAuthority();
    secured = await startEtcdCluster({ size: 1, tls: certificate });
  }, 120_000);

  afterAll(async () => {
    await secured[Symbol.asyncDispose]();
  });

  it('lets a component into its own election and nothing else, however often that is arranged', async () => {
    await using root = connectAs(fixedTls(await certificate('root')));
    const rules = [
      {
        user: 'system:kube-scheduler',
        permissions: [
          { access: 'readwrite', key: '/gantry/elections/kube-scheduler' },
          { access: 'read', key: '/gantry/incarnation' },
        ],
      },
    ] as const;
    await root.access.ensure(rules, patiently());
    await root.access.ensure(rules, patiently());
    const put = (key: string) => ({ kind: 'put', key, value: Buffer.from('x') }) as const;
    const write = (etcd: Etcd, key: string) =>
      etcd.kv.transact({ compare: [], success: [put(key)], failure: [] }, patiently());
    await write(root, '/gantry/incarnation');
    await write(root, '/registry/pods/a/b');
    await using scheduler = connectAs(fixedTls(await certificate('system:kube-scheduler')));
    await write(scheduler, '/gantry/elections/kube-scheduler');
    expect((await scheduler.kv.range({ key: '/gantry/incarnation' }, patiently())).kvs).toHaveLength(1);
    const denied = { code: 'permission-denied' };
    await expect(write(scheduler, '/gantry/incarnation')).rejects.toMatchObject(denied);
    await expect(write(scheduler, '/registry/pods/a/b')).rejects.toMatchObject(denied);
    await expect(scheduler.kv.range({ key: '/registry/pods/a/b' }, patiently())).rejects.toMatchObject(denied);
    const nested = { kind: 'transaction', compare: [], success: [put('/registry/pods/a/b')], failure: [] } as const;
    const smuggled = scheduler.kv.transact({ compare: [], success: [nested], failure: [] }, patiently());
    await expect(smuggled).rejects.toMatchObject(denied);
    const watch = scheduler.watcher.watch({ key: '/registry/', rangeEnd: '/registry0', startRevision: 1 }, signal());
    const watching = (async () => {
      for await (const item of watch) expect(item).toBeUndefined();
    })();
    await expect(watching).rejects.toMatchObject(denied);
    const stop = new AbortController();
    const election = createElection({
      etcd: scheduler,
      clock: systemClock,
      random: systemRandom,
      component: 'kube-scheduler',
      identity: 'a',
      ttlMs: 2000,
    });
    await root.kv.transact(
      { compare: [], success: [{ kind: 'delete', key: '/gantry/elections/kube-scheduler' }], failure: [] },
      patiently(),
    );
    for await (const event of election.campaign(stop.signal)) {
      expect(event).toMatchObject({ kind: 'elected', term: { incarnation: 'x' } });
      stop.abort();
    }
  });

  it('goes on with renewed certificates, watches included', async () => {
    const listeners = new Set<(material: TlsMaterial) => void>();
    let material = await certificate('root');
    await using etcd = connectAs({
      current: () => material,
      subscribe: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    });
    const write = async (value: string) => {
      const put = { kind: 'put', key: '/renewal', value: Buffer.from(value) } as const;
      return (await etcd.kv.transact({ compare: [], success: [put], failure: [] }, patiently())).revision;
    };
    const start = await write('before');
    const seen: string[] = [];
    const watching = (async () => {
      for await (const item of etcd.watcher.watch({ key: '/renewal', startRevision: start }, signal())) {
        if (item.kind !== 'events') continue;
        for (const event of item.events) if (event.kind === 'put') seen.push(Buffer.from(event.kv.value).toString());
        if (seen.length === 2) break;
      }
    })();
    await pause(100);
    material = await certificate('root');
    for (const listener of listeners) listener(material);
    await write('after');
    await watching;
    expect(seen).toEqual(['before', 'after']);
  });
});
