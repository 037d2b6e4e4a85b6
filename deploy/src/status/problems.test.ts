import { expect, test } from 'vitest';
import type { CertificateFact, EtcdMember, Facts } from './facts.ts';
import { findProblems } from './problems.ts';

const DAY_MS = 86_400_000;
const member = (name: string, change: Partial<EtcdMember> = {}): EtcdMember => ({
  name,
  state: 'healthy',
  role: 'follower',
  version: '3.5.30',
  dbBytes: 20_480,
  quotaBytes: 2 ** 31,
  alarms: [],
  ...change,
});
const down = { state: 'unreachable', role: '', version: '' } as const;
const lasting = (of: string, days: number, left: number): CertificateFact => ({
  of,
  notBefore: (left - days) * DAY_MS,
  notAfter: left * DAY_MS,
});
const well: Facts = {
  clusterId: 'gantry-000000',
  now: 0,
  containers: [{ name: 'a-apiserver-1', service: 'apiserver', state: 'running', health: 'healthy', image: 'gantry:1' }],
  etcd: [member('etcd-0', { role: 'leader' }), member('etcd-1'), member('etcd-2')],
  api: { state: 'ready', version: 'v1.36.2' },
  leaders: [
    { component: 'kube-scheduler', holder: 'a', freshness: 'current', ttlMs: 2000 },
    { component: 'kube-controller-manager', holder: 'b', freshness: 'current', ttlMs: 8000 },
  ],
  nodes: [{ name: 'host-1', ready: 'True', pressures: [], version: 'v1.36.2', address: '10.128.0.9' }],
  waitingPods: [],
  certificates: [lasting('etcd-0', 365, 300), lasting('scheduler', 30, 12), lasting('the authority', 3650, 1000)],
};

test('a healthy cluster has no problems', () => {
  expect(findProblems(well)).toEqual([]);
});

test.each([
  [
    'one etcd member down',
    { etcd: [member('etcd-0'), member('etcd-1'), member('etcd-2', down)] },
    'etcd 2/3, quorum holds: docker compose up -d --no-recreate etcd-2',
  ],
  [
    'two etcd members down',
    { etcd: [member('etcd-0'), member('etcd-1', down), member('etcd-2', down)] },
    'etcd 1/3, no quorum: writes refused: docker compose up -d --no-recreate etcd-1 etcd-2',
  ],
  [
    'a paused member, which `up` leaves paused',
    {
      etcd: [member('etcd-0'), member('etcd-1'), member('etcd-2', down)],
      containers: [
        ...well.containers,
        { name: 'a-etcd-2-1', service: 'etcd-2', state: 'paused', health: '', image: '' },
      ],
    },
    'etcd 2/3, quorum holds: docker unpause a-etcd-2-1',
  ],
  [
    'a member that runs and does not respond',
    {
      etcd: [member('etcd-0'), member('etcd-1'), member('etcd-2', down)],
      containers: [
        ...well.containers,
        { name: 'a-etcd-2-1', service: 'etcd-2', state: 'running', health: '', image: '' },
      ],
    },
    'etcd 2/3, quorum holds: docker compose logs etcd-2',
  ],
  [
    'a paused service',
    { containers: [{ name: 'a-dns-1', service: 'dns', state: 'paused', health: '', image: '' }] },
    'a-dns-1 is paused: docker unpause a-dns-1',
  ],
  [
    'an API server that has ended, and a paused one',
    {
      containers: ['exited', 'paused'].map((state, i) => ({
        ...{ name: `a-apiserver-${i}`, service: 'apiserver', state, health: '', image: '' },
      })),
    },
    'apiserver 0/2 running: docker unpause a-apiserver-1; docker compose up -d --no-recreate apiserver',
  ],
  [
    'members that know no leader',
    { etcd: [member('etcd-0', { role: 'no leader' }), member('etcd-1', down), member('etcd-2', down)] },
    'etcd 0/3, no quorum: writes refused: docker compose up -d --no-recreate etcd-0 etcd-1 etcd-2',
  ],
  [
    'a member that crashes at each start',
    { etcd: [member('etcd-0'), member('etcd-1'), member('etcd-2', { ...down, state: 'restarting' })] },
    'etcd-2 keeps restarting: docker compose logs etcd-2; if its data is lost: npm run etcd -- replace etcd-2',
  ],
  [
    'that nothing is to be started when the engine does',
    { etcd: [member('etcd-0'), member('etcd-1'), member('etcd-2', { ...down, state: 'restarting' })] },
    'etcd 2/3, quorum holds',
  ],
  [
    'a member whose disk is full',
    {
      etcd: [
        member('etcd-0'),
        member('etcd-1'),
        member('etcd-2', { ...down, state: 'restarting', cause: 'disk full' }),
      ],
    },
    'etcd-2 keeps restarting, because its disk is full; it starts when there is room: docker system df; df -h',
  ],
  [
    'a full etcd',
    { etcd: [member('etcd-0', { alarms: ['NOSPACE'] })] },
    'etcd is full (NOSPACE) and accepts only deletes: the API servers free what old revisions take; if objects fill it, delete some: kubectl delete events -A --all',
  ],
  [
    'an etcd that is nearly full',
    { etcd: [member('etcd-0', { dbBytes: 1.7 * 2 ** 30 })] },
    'etcd uses 85 % of its 2 GiB (etcd-0): the API servers free what old revisions take; if objects fill it, delete some: kubectl delete events -A --all',
  ],
  [
    'a nearly full etcd with another quota',
    { etcd: ['etcd-0', 'etcd-1'].map((name) => member(name, { dbBytes: 52 * 2 ** 20, quotaBytes: 2 ** 26 })) },
    'etcd uses 81 % of its 64 MiB (etcd-0, etcd-1): the API servers free what old revisions take; if objects fill it, delete some: kubectl delete events -A --all',
  ],
  [
    'members that differ',
    { etcd: [member('etcd-0', { alarms: ['CORRUPT'] })] },
    'etcd reports a member with other data (CORRUPT): npm run snapshot -- restore FILE',
  ],
  [
    'an old etcd',
    { etcd: [member('etcd-0', { version: '3.5.16' })] },
    'etcd-0 runs etcd 3.5.16: older than 3.5.30, which loses events: remove the image, then npm run up',
  ],
  [
    'an API that is not ready',
    { api: { state: 'not ready', why: 'connection refused' } },
    'the API is not ready: connection refused: docker compose logs apiserver',
  ],
  [
    'an API server that is not ready while another one is',
    {
      containers: [
        ...well.containers,
        { name: 'a-apiserver-2', service: 'apiserver', state: 'running', health: 'unhealthy', image: '' },
      ],
    },
    'a-apiserver-2 is not ready and gets no requests: docker logs --tail 20 a-apiserver-2',
  ],
  ['no leader', { leaders: [] }, 'kube-scheduler has no leader: docker compose logs scheduler'],
  [
    'a node that is lost',
    { nodes: [{ name: 'host-2', ready: 'Unknown', pressures: [], version: '', address: '' }] },
    'node host-2 is not Ready (Unknown): no other node could take its pods: docker compose ps -a agent',
  ],
  [
    'one of two nodes that is lost',
    { nodes: [...well.nodes, { name: 'host-2', ready: 'Unknown', pressures: [], version: '', address: '' }] },
    'node host-2 is not Ready (Unknown): its pods move to other nodes: docker compose ps -a agent',
  ],
  [
    'a node whose disk is full',
    { nodes: [{ name: 'host-2', ready: 'True', pressures: ['DiskPressure'], version: '', address: '' }] },
    'node host-2 has DiskPressure: it takes no pods and evicts some: docker system df',
  ],
  [
    'a host without custodian',
    {
      leaders: [
        ...well.leaders,
        { component: 'gantry-host-a1', holder: 'host-2', freshness: 'expired', ttlMs: undefined },
      ],
    },
    'the host of host-2 has no custodian: docker compose ps -a agent',
  ],
  [
    'pods of a lost node that nobody has stopped',
    {
      nodes: [...well.nodes, { name: 'host-2', ready: 'Unknown', pressures: [], version: '', address: '' }],
      waitingPods: ['db-0', 'db-1', 'db-2', 'db-3'].map((name) => ({ node: 'host-2', pod: `shop/${name}` })),
    },
    'shop/db-0, shop/db-1, shop/db-2 and 1 more: waiting until the containers on host-2 are known to have stopped: start an agent of its host, or, if the host is off: kubectl taint nodes host-2 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute',
  ],
  [
    'a certificate near its end',
    { certificates: [lasting('etcd-1', 365, 3)] },
    'the certificate of etcd-1 runs out in 3 days: npm run up renews it',
  ],
  [
    'a certificate that has run out',
    { certificates: [lasting('etcd-1', 365, -1)] },
    'the certificate of etcd-1 has run out: npm run up renews it',
  ],
  [
    'an authority near its end',
    { certificates: [lasting('the authority', 3650, 800)] },
    'the certificate of the authority runs out in 800 days: npm run up renews it',
  ],
] satisfies [string, Partial<Facts>, string][])('%s is said plainly', (_, change, sentence) => {
  expect(findProblems({ ...well, ...change })).toContain(sentence);
});
