import { Activities, type Clock, systemClock, systemRandom, systemUid } from '@gantry/base';
import { createMemoryObjectStore } from '../storage/testing/memory-store.ts';
import { ManualClock } from '@gantry/base/testing';
import { toGrpcFailure } from '@gantry/client';
import { StatusError } from '@gantry/objects';
import { grpcServer, introspectionService, type ReportedParts, silentLogger } from '@gantry/service';
import { fixedTls } from '@gantry/tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureIncarnation } from '../incarnation.ts';
import { callServer } from '../testing/call-server.ts';
import { startApiServer, type TestApiServer } from '../testing/start-api-server.ts';
import { isAnyReady } from './introspection.ts';
import { createProcessReports } from './process-reports.ts';
import { createTestPki, type TestPki } from '../testing/test-pki.ts';

const SIGNAL = new AbortController().signal;
const HOUR_MS = 3_600_000;
const OWN_PODS = '10.128.0.0/20';
const OTHER_PODS = '10.128.16.0/20';
/** Ahead of the machine's clock, so that no process misses the deadline of a call while it waits for a processor. */
const clock: Clock = { ...systemClock, now: () => systemClock.now() + HOUR_MS };
const stop = new AbortController();
const running: Promise<void>[] = [];
let pki: TestPki;
let server: TestApiServer;

const STATUS = {
  member: 'https://etcd-0:2379',
  version: '3.5.30',
  memberId: '7',
  leaderId: '7',
  revision: 12,
  raftTerm: 3,
  raftIndex: 40,
  raftAppliedIndex: 39,
  dbSizeBytes: 2000,
  dbSizeInUseBytes: 1000,
  alarms: [],
};

/** A process of a service that says these parts of itself. Returns its port. */
async function startProcess(name: string, parts: ReportedParts): Promise<number> {
  const tls = fixedTls(await pki.issue(`system:${name}`, ['gantry:services'], [name]));
  const forbidden = () => new StatusError('Forbidden', 'only API servers');
  const listening = Promise.withResolvers<number>();
  const member = grpcServer({
    tls,
    address: '127.0.0.1:0',
    services: [introspectionService({ parts, askedBy: 'gantry:apiservers', forbidden })],
    clock: systemClock,
    activities: new Activities(systemClock),
    logger: silentLogger,
    toGrpcError: toGrpcFailure,
    onListening: listening.resolve,
  });
  running.push(member.run(stop.signal).then(() => member.close?.()));
  return await listening.promise;
}

beforeAll(async () => {
  pki = await createTestPki(systemClock.now());
  const store = createMemoryObjectStore({ clock: systemClock, random: systemRandom, newUid: systemUid });
  await ensureIncarnation(store.etcd, systemUid, SIGNAL);
  const put = { kind: 'put', key: '/gantry/elections/kube-scheduler', value: Buffer.from('s-1') } as const;
  await store.etcd.kv.transact({ compare: [], success: [put], failure: [] }, { signal: SIGNAL });
  const scheduler = await startProcess('scheduler', {
    process: () => ({ component: 'kube-scheduler', identity: 's-1', state: 'leading' }),
    queue: () => ({ active: 1, backoff: 0, unschedulable: 2 }),
    decisions: () => [
      { at: '2', pod: { namespace: 'a', name: 'one' } },
      { at: '1', pod: { namespace: 'b', name: 'two' } },
      { at: '3', pod: { namespace: 'b', name: 'one' } },
    ],
  });
  const manager = await startProcess('controller-manager', {
    process: () => ({ component: 'kube-controller-manager', identity: 'c-1', state: 'standby' }),
    loops: () => [{ name: 'deployment' }, { name: 'job' }],
  });
  const agent = await startProcess('host-1', {
    process: () => ({ component: 'kubelet', identity: 'host-1', state: 'running' }),
    loops: () => [{ name: 'pods' }],
  });
  const dns = await startProcess('dns', {
    process: () => ({ component: 'kube-dns', identity: 'd-1', state: 'running' }),
    loops: () => [{ name: 'questions' }, { name: 'records' }],
    cache: () => ({ revision: 1 }),
  });
  const proxy = await startProcess('proxy', {
    process: () => ({ component: 'kube-proxy', identity: OWN_PODS, state: 'running' }),
    loops: () => [{ name: 'rules' }],
  });
  const otherProxy = await startProcess('proxy', {
    process: () => ({ component: 'kube-proxy', identity: OTHER_PODS, state: 'running' }),
    loops: () => [{ name: 'rules' }],
  });
  const at = (name: string, port: number) => ({ name, port, addresses: () => Promise.resolve(['127.0.0.1']) });
  server = await startApiServer({
    pki,
    clock,
    store,
    introspection: {
      identity: 'a-1',
      address: '10.0.0.1:6444',
      kv: store.etcd.kv,
      members: [() => Promise.resolve(STATUS), () => Promise.reject(new RangeError('no answer'))],
      quotaBytes: 4000,
      historyMinutes: 5,
      // The last one has nobody at its port.
      agentPort: agent,
      dns: at('dns', dns),
      proxyOf: (host) => ({ ...at('proxy', host === OWN_PODS ? proxy : otherProxy), host }),
      podCidr: OWN_PODS,
      services: [at('scheduler', scheduler), at('controller-manager', manager), at('scheduler', 1)],
      peers: { name: 'apiserver', port: 1, addresses: () => Promise.reject(new RangeError('no such name')) },
    },
  });
});
afterAll(async () => {
  await server.stop();
  stop.abort();
  await Promise.all(running);
});

async function get(path: string): Promise<Record<string, unknown>> {
  const reply = await callServer(server, 'GET', path);
  expect([path, reply.code]).toEqual([path, 200]);
  return reply.json;
}

test('the paths are listed', async () => {
  const names = ['leaders', 'loops', 'scheduling', 'etcd', 'apiservers', 'history'];
  expect(await get('/gantry/v1')).toEqual({ paths: names.map((name) => `/gantry/v1/${name}`) });
});

test('leaders: the holder and the epoch as etcd has them, and what each candidate says; who does not answer is named', async () => {
  const { leaders, unreachable } = await get('/gantry/v1/leaders');
  expect(leaders).toEqual([
    {
      component: 'kube-controller-manager',
      holder: null,
      epoch: null,
      candidates: [expect.objectContaining({ identity: 'c-1', state: 'standby' })],
    },
    {
      component: 'kube-scheduler',
      holder: 's-1',
      epoch: expect.any(Number),
      candidates: [expect.objectContaining({ identity: 's-1', state: 'leading', address: expect.any(String) })],
    },
  ]);
  expect(unreachable).toEqual([
    { address: '127.0.0.1:1', reason: expect.stringContaining('UNAVAILABLE') },
    { address: 'apiserver:1', reason: 'no such name' },
  ]);
  const one = await get('/gantry/v1/leaders?component=kube-scheduler');
  expect(one['leaders']).toHaveLength(1);
});

test('loops: by process, and a single one by name', async () => {
  expect((await get('/gantry/v1/loops'))['processes']).toEqual([
    expect.objectContaining({ component: 'kube-controller-manager', loops: [{ name: 'deployment' }, { name: 'job' }] }),
    expect.objectContaining({
      component: 'kube-dns',
      state: 'running',
      loops: [{ name: 'questions' }, { name: 'records' }],
      cache: { revision: 1, behind: expect.any(Number) },
    }),
    expect.objectContaining({ component: 'kube-proxy', identity: OWN_PODS, loops: [{ name: 'rules' }] }),
    expect.objectContaining({
      component: 'kube-scheduler',
      loops: [],
      queue: { active: 1, backoff: 0, unschedulable: 2 },
    }),
  ]);
  const one = await get('/gantry/v1/loops?component=kube-controller-manager&loop=job');
  expect(one['processes']).toMatchObject([{ loops: [{ name: 'job' }] }]);
});

test('processes without an election are no candidates, and nobody asks them who leads', async () => {
  const { leaders } = await get('/gantry/v1/leaders');
  expect((leaders as { readonly component: string }[]).map(({ component }) => component)).toEqual([
    'kube-controller-manager',
    'kube-scheduler',
  ]);
});

test("loops of a node's agent and of its host's proxy, when it is named", async () => {
  const node = async (name: string, addresses: object[], podCIDR?: string) => {
    const made = await callServer(server, 'POST', '/api/v1/nodes', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name },
        spec: { podCIDR },
        status: { addresses },
      }),
    });
    expect(made.code).toBe(201);
  };
  await node('host-1', [{ type: 'InternalIP', address: '127.0.0.1' }]);
  await node('host-2', [{ type: 'InternalIP', address: '127.0.0.1' }]);
  await node('host-3', []);
  expect(await get('/gantry/v1/loops?node=host-1')).toMatchObject({
    processes: [{ component: 'kubelet', identity: 'host-1', state: 'running', loops: [{ name: 'pods' }] }],
    unreachable: [],
  });
  // Two hosts in the same half second: each has a proxy of its own.
  const hosts = [OWN_PODS, OTHER_PODS];
  for (const [i, range] of hosts.entries())
    await node(`member-${i}`, [{ type: 'InternalIP', address: '127.0.0.1' }], range);
  const found = await Promise.all(hosts.map((_, i) => get(`/gantry/v1/loops?node=member-${i}&component=kube-proxy`)));
  expect(found).toMatchObject(hosts.map((identity) => ({ processes: [{ identity, loops: [{ name: 'rules' }] }] })));
  expect(await get('/gantry/v1/loops?node=host-1&loop=other')).toMatchObject({ processes: [{ loops: [] }] });
  // The agent of another node has its address: its certificate is not of this name.
  expect(await get('/gantry/v1/loops?node=host-2')).toMatchObject({
    processes: [],
    unreachable: [{ reason: expect.stringContaining('UNAVAILABLE') }],
  });
  expect(await get('/gantry/v1/loops?node=host-3')).toMatchObject({
    unreachable: [{ reason: 'the node has no InternalIP' }],
  });
  const unknown = await callServer(server, 'GET', '/gantry/v1/loops?node=nowhere');
  expect([unknown.code, unknown.json]).toMatchObject([
    404,
    { reason: 'NotFound', message: expect.stringContaining('node') },
  ]);
});

test('scheduling: decisions by pod, newest first', async () => {
  expect((await get('/gantry/v1/scheduling'))['decisions']).toMatchObject([{ at: '3' }, { at: '2' }, { at: '1' }]);
  expect((await get('/gantry/v1/scheduling?namespace=b&pod=one'))['decisions']).toMatchObject([{ at: '3' }]);
});

test('a process is asked once in half a second, however many ask', async () => {
  const still = new ManualClock(clock.now());
  const tls = fixedTls(await pki.issue('system:apiserver', ['gantry:apiservers']));
  using reports = createProcessReports(tls, still);
  let asked = 0;
  const port = await startProcess('counted', { process: () => ({ identity: String(++asked) }) });
  const service = { name: 'counted', port, addresses: () => Promise.resolve(['127.0.0.1']) };
  const gather = () => reports.gather([service], ['process']);
  const all = await Promise.all(Array.from({ length: 20 }, gather));
  expect(new Set(all.map(({ reports: [one] }) => JSON.stringify(one?.parts)))).toEqual(
    new Set(['{"process":{"identity":"1"}}']),
  );
  await still.advance(499);
  expect(await gather()).toBe(all[0]);
  await still.advance(1);
  expect((await gather()).reports[0]?.parts).toEqual({ process: { identity: '2' } });
});

test.each([
  [{ ready: true, etcd: 'answers' }, true],
  [{ ready: true, etcd: 'silent' }, false],
  [{ ready: false, etcd: 'answers' }, false],
  // Of an earlier release.
  [{ ready: true }, true],
])('whether another API server that says %j can take clients: %s', async (says, expected) => {
  const tls = fixedTls(await pki.issue('system:apiserver', ['gantry:apiservers']));
  using reports = createProcessReports(tls, systemClock);
  const parts = Object.entries({ process: { identity: 'b' }, ...says }).map(([name, value]) => [name, () => value]);
  const port = await startProcess('other', Object.fromEntries(parts) as ReportedParts);
  const servers = { name: 'other', port, addresses: () => Promise.resolve(['127.0.0.1']) };
  expect(await isAnyReady(reports, servers)).toBe(expected);
});

test('a process answers API servers alone', async () => {
  const port = await startProcess('closed', { process: () => ({ identity: 'x' }) });
  const tls = fixedTls(await pki.issue('system:kube-scheduler', ['gantry:services']));
  using reports = createProcessReports(tls, clock);
  const service = { name: 'closed', port, addresses: () => Promise.resolve(['127.0.0.1']) };
  expect(await reports.gather([service], ['process'])).toMatchObject({
    reports: [],
    unreachable: [{ reason: expect.stringContaining('PERMISSION_DENIED') }],
  });
});

test('etcd: each member, also one that does not answer', async () => {
  expect(await get('/gantry/v1/etcd')).toEqual({
    at: expect.any(String),
    leader: 'etcd-0',
    quotaBytes: 4000,
    members: [
      {
        name: 'etcd-0',
        state: 'healthy',
        latencyMs: expect.any(Number),
        id: '7',
        isLeader: true,
        version: '3.5.30',
        revision: 12,
        raftTerm: 3,
        raftIndex: 40,
        raftAppliedIndex: 39,
        sizeBytes: 2000,
        inUseBytes: 1000,
        alarms: [],
      },
      { name: 'etcd-1', state: 'unreachable', reason: 'no answer' },
    ],
  });
});

test('apiservers: requests, the cache and flow control', async () => {
  await callServer(server, 'GET', '/api/v1/namespaces/default/pods');
  const { apiservers } = await get('/gantry/v1/apiservers');
  expect(apiservers).toEqual([
    expect.objectContaining({
      address: '10.0.0.1:6444',
      component: 'kube-apiserver',
      identity: 'a-1',
      leading: true,
      cache: { revision: expect.any(Number), behind: expect.any(Number) },
      requests: expect.arrayContaining([
        { verb: 'list', resource: 'pods', codes: { 200: expect.any(Number) }, meanSeconds: expect.any(Number) },
      ]),
      flowControl: expect.arrayContaining([
        expect.objectContaining({
          name: 'exempt',
          schemas: expect.arrayContaining([expect.objectContaining({ name: 'exempt', executingRequests: 1 })]),
        }),
        expect.objectContaining({ name: 'global-default', limitSeats: expect.any(Number) }),
      ]),
    }),
  ]);
});

test('history: the versions that can be listed, and when the cluster had them', async () => {
  const read = async (version: string) =>
    (await callServer(server, 'GET', `/api/v1/namespaces?resourceVersionMatch=Exact&resourceVersion=${version}`)).code;
  const history = await get('/gantry/v1/history');
  expect(history).toMatchObject({
    keptMinutes: 5,
    oldest: { resourceVersion: expect.any(String) },
    marks: expect.any(Array),
  });
  const { newest } = history as { readonly newest: { readonly resourceVersion: string } };
  expect(await read(newest.resourceVersion)).toBe(200);
});

test('who has no right to see it is refused, and the role gantry:view gives it', async () => {
  const jane = await server.pki.issue('jane', []);
  for (const as of ['anonymous', jane] as const)
    for (const path of ['/gantry/v1', '/gantry/v1/leaders'])
      expect((await callServer(server, 'GET', path, { as })).code).toBe(403);
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'jane' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'gantry:view' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
  };
  const made = await callServer(server, 'POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(binding),
  });
  expect(made.code).toBe(201);
  await expect.poll(async () => (await callServer(server, 'GET', '/gantry/v1/leaders', { as: jane })).code).toBe(200);
  expect((await callServer(server, 'POST', '/gantry/v1/leaders')).code).toBe(405);
  expect((await callServer(server, 'GET', '/gantry/v1/constructor')).code).toBe(404);
});
