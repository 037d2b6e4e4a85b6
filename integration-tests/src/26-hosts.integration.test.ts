import { readFileSync } from 'node:fs';
import { mkdtemp, mkdtempDisposable, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Node, NODES } from '@gantry/objects';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster, isReady } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { HostLab, type HostLink } from './harness/host-lab.ts';
import { runProgram } from './harness/process.ts';
import { ServicePods } from './harness/service-pods.ts';

/**
 * A second and a third machine: network namespaces with an engine of their own join the cluster of the suite. Each two of the three have a
 * link of their own.
 */
const cluster = new Cluster();
const SOON_MS = 120_000;
const NUMBERS = [7, 8] as const;
/** What the machines call the first host. */
const ADDRESS = HostLab.gateway(NUMBERS[0]);
/** Those of the suite's cluster. */
const OVERLAYS = (process.env['GANTRY_OVERLAYS'] ?? '').split(',').filter((name) => name !== '');

/** Tables of iptables stay without rules once they were used. */
const STATE = `set -e
docker ps -aq
docker network ls --format '{{.Name}}'
docker volume ls -q
ip -o link | cut -d ' ' -f 2
ip route
ip rule
iptables-save | grep -E '^(-A|:[^ ]+ -)'
nft list tables | grep -vE ' (filter|nat|raw|mangle)$' || true`;

/** A machine that joins. */
interface Joined {
  readonly lab: HostLab;
  readonly home: string;
  readonly node: string;
}

const joined: Joined[] = [];
/** What each had of containers and of the network before it joined. */
let before: readonly string[];
let between: HostLink;
let namespace: Awaited<ReturnType<Cluster['namespace']>>;
let first: Node;
/** Makes a pod on the node of each host, and waits for them. */
let makePods: (names: readonly string[]) => Promise<void>;

const script = (name: string) => join(cluster.root, 'deploy/bin', name);

const leave = ({ lab, home }: Pick<Joined, 'lab' | 'home'>) => lab.must(script('leave'), [], { GANTRY_HOME: home });

/** What a host has of containers and of the network: names and rules, without counters. */
function stateOf(host: HostLab): Promise<string> {
  return host.must('sh', ['-c', STATE]);
}

/** Makes a machine with an engine that has the images of the cluster. */
async function addHost(number: number): Promise<Joined> {
  const home = await mkdtemp(join(tmpdir(), 'gantry-joined-'));
  const lab = await HostLab.create(number);
  // The engine's own rules come with its first network, and stay.
  await lab.must('docker', ['network', 'create', '--subnet', '10.231.100.0/24', 'first']);
  await lab.must('docker', ['network', 'rm', 'first']);
  const image = /^GANTRY_IMAGE=(.*)$/m.exec(readFileSync(join(cluster.home, 'env'), 'utf8'))?.[1] ?? '';
  await lab.load([image, 'debian:trixie-slim', 'registry.k8s.io/pause:3.10']);
  return { lab, home, node: `hosts-${process.pid}-${number}-1` };
}

async function joinCluster({ lab, home, node }: Joined): Promise<void> {
  const printed = await runProgram(script('token'), [], { env: { GANTRY_HOME: cluster.home } });
  expect(printed.stdout).toMatch(
    new RegExp(`^npm run join -- --server ${ADDRESS} --token [a-z0-9.]+ --cluster \\S+$`, 'm'),
  );
  const args = printed.stdout.trim().split(' ').slice(4);
  const name = node.replace(/-1$/, '');
  await lab.must(script('join'), [...args, '--name', name], { GANTRY_HOME: home });
  await eventually(`${node} is Ready`, SOON_MS, async () => isReady(await cluster.get(NODES, '', node)));
}

beforeAll(async () => {
  for (const number of NUMBERS) joined.push(await addHost(number));
  const [second, third] = joined as [Joined, Joined];
  between = await HostLab.connect(second.lab, third.lab);
  await third.lab.routeByGateway(ADDRESS);
  before = await Promise.all(joined.map(({ lab }) => stateOf(lab)));
  await cluster.up({ GANTRY_OVERLAYS: [...OVERLAYS, 'hosts'].join(','), GANTRY_HOST_ADDRESS: ADDRESS });
  for (const host of joined) await joinCluster(host);
  namespace = await cluster.namespace();
  const pods = new ServicePods(cluster, namespace.name);
  const names = new Set(joined.map(({ node }) => node));
  first = (await cluster.nodes()).find(({ metadata }) => !names.has(metadata.name ?? '')) as Node;
  // A pod that is not evicted while its host is cut off.
  const tolerations = [{ operator: 'Exists', effect: 'NoExecute' }];
  const spec = { ...(await pods.serverSpec()), tolerations };
  const nodes = [first.metadata.name ?? '', second.node, third.node];
  makePods = async (made) => {
    for (const [index, pod] of made.entries()) await pods.server(pod, nodes[index] ?? '', 0, spec);
    for (const pod of made) await pods.untilReady(pod);
  };
  await makePods(PODS);
  for (const pod of PODS) await kubectl('expose', 'pod', pod, '--port=80', '--target-port=8080');
}, 900_000);

afterAll(async () => {
  await namespace?.[Symbol.asyncDispose]();
  for (const host of joined) {
    try {
      await leave(host);
    } finally {
      await host.lab[Symbol.asyncDispose]();
    }
    await cluster.kubectl(['delete', 'node', host.node, '--ignore-not-found']);
    await rm(host.home, { recursive: true, force: true });
  }
  await cluster.up({ GANTRY_OVERLAYS: OVERLAYS.join(','), GANTRY_HOST_ADDRESS: '' });
}, 600_000);

/** One on each host, with a Service each. */
const PODS = ['on-first', 'on-second', 'on-third'] as const;
type PodName = (typeof PODS)[number];

const kubectl = (...args: string[]) => cluster.mustKubectl(['-n', namespace.name, ...args]);

/** What a pod of any host is answered; the engine of the suite has only those of the first one. */
async function ask(from: PodName, target: string): Promise<string> {
  const script = `fetch('http://${target}', { signal: AbortSignal.timeout(3000) }).then((response) => response.text()).then(console.log)`;
  return (await kubectl('exec', from, '--', 'node', '-e', script)).trim();
}

const addressOf = (pod: PodName) => kubectl('get', 'pod', pod, '-o', 'jsonpath={.status.podIP}');

/** Senders keep their address. */
async function untilReached(from: PodName, to: PodName, target: string): Promise<void> {
  const own = await addressOf(from);
  await eventually(`${from} reaches ${target}`, SOON_MS, async () => {
    const answer = await ask(from, target);
    if (answer === `${to} ${own}`) return true;
    throw new Error(`it was ${answer}`);
  });
}

const PAIRS: readonly (readonly [PodName, PodName])[] = [
  ['on-first', 'on-second'],
  ['on-first', 'on-third'],
  ['on-second', 'on-third'],
];

test('each host has a range of its own, in all of its Nodes', async () => {
  const nodes = await cluster.nodes();
  const rangeOf = (name: string) => nodes.find(({ metadata }) => metadata.name === name)?.spec?.podCIDR ?? '';
  const ranges = [first.metadata.name ?? '', ...joined.map(({ node }) => node)].map(rangeOf);
  expect(ranges).not.toContain('');
  expect(new Set(ranges).size).toBe(3);
  const names = new Set(joined.map(({ node }) => node));
  for (const { metadata, spec } of nodes) {
    if (!names.has(metadata.name ?? '')) expect(spec?.podCIDR).toBe(first.spec?.podCIDR);
  }
  for (const { node, lab } of joined) {
    const found = nodes.find(({ metadata }) => metadata.name === node);
    expect(found?.metadata.annotations?.['gantry.dev/host-address']).toBe(lab.address);
  }
});

test('pods, Services and names are reached between each two hosts, in both directions, and commands of kubectl', async () => {
  for (const [from, to] of PAIRS.flatMap(
    ([one, other]) =>
      [
        [one, other],
        [other, one],
      ] as const,
  )) {
    await untilReached(from, to, `${await addressOf(to)}:8080`);
    await untilReached(from, to, `${to}.${namespace.name}.svc.cluster.local`);
  }
  for (const pod of PODS) {
    expect(await kubectl('logs', pod)).toBe('');
    expect(await kubectl('exec', pod, '--', 'hostname')).toBe(`${pod}\n`);
  }
});

test('the loops of the proxy of each host are shown by a Node of the host', async () => {
  interface Report {
    readonly processes: readonly { readonly component: string; readonly identity: string }[];
    readonly unreachable: readonly object[];
  }
  for (const node of [first.metadata.name ?? '', ...joined.map((one) => one.node)]) {
    const { spec } = await cluster.get(NODES, '', node);
    await eventually(`the proxy of ${node} responds`, SOON_MS, async () => {
      const report = JSON.parse(await kubectl('get', '--raw', `/gantry/v1/loops?node=${node}`)) as Report;
      expect([report.processes.map(({ component, identity }) => [component, identity]), report.unreachable]).toEqual([
        [
          ['kube-proxy', spec?.podCIDR],
          ['kubelet', node],
        ],
        [],
      ]);
      return true;
    });
  }
});

test('a cut link to a host is seen, and what was cut off comes back when it heals', async () => {
  for (const [index, { node, lab }] of joined.entries()) {
    const [cut, other] = index === 0 ? (['on-second', 'on-third'] as const) : (['on-third', 'on-second'] as const);
    await lab.setLink('down');
    const ready = async () => isReady(await cluster.get(NODES, '', node));
    await eventually(`${node} is not Ready`, SOON_MS, async () => !(await ready()));
    await untilReached('on-first', other, `${await addressOf(other)}:8080`);
    // The two further hosts reach each other without the first.
    await untilReached(other, cut, `${await addressOf(cut)}:8080`);
    await lab.setLink('up');
    await eventually(`${node} is Ready again`, SOON_MS, ready);
    await untilReached('on-first', cut, `${cut}.${namespace.name}`);
    await untilReached(cut, 'on-first', `on-first.${namespace.name}`);
  }
});

test('a cut link between two further hosts parts their pods alone, until it heals', async () => {
  const target = `${await addressOf('on-third')}:8080`;
  await between.set('down');
  await eventually('the way is cut', SOON_MS, async () => {
    const outcome = await ask('on-second', target).catch((error: unknown) => error);
    return outcome instanceof Error;
  });
  for (const { node } of joined) expect(isReady(await cluster.get(NODES, '', node))).toBe(true);
  await untilReached('on-first', 'on-second', `on-second.${namespace.name}`);
  await untilReached('on-first', 'on-third', `on-third.${namespace.name}`);
  await between.set('up');
  await untilReached('on-second', 'on-third', target);
  await untilReached('on-third', 'on-second', `on-second.${namespace.name}`);
});

test('a restored cluster is itself again on each host', { timeout: 900_000 }, async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'gantry-hosts-'));
  const file = join(folder.path, 'state.snapshot');
  const snapshot = async (verb: string) => {
    const options = { env: { GANTRY_HOME: cluster.home }, timeoutMs: 600_000 };
    const { code, stderr, stdout } = await runProgram(script('snapshot'), [verb, file], options);
    expect(code, `${stderr}${stdout}`).toBe(0);
  };
  const containersOn = async ({ lab }: Joined, uid: string) =>
    await lab.must('docker', ['ps', '-q', '--filter', `label=io.kubernetes.pod.uid=${uid}`]);
  const uidsOf = async (names: readonly string[]) => {
    const pods = await cluster.pods(namespace.name);
    return names.map((name) => pods.find(({ metadata }) => metadata.name === name)?.metadata.uid ?? '');
  };
  const uids = await uidsOf(PODS);
  await snapshot('save');

  // On each host, one pod is gone and another one has come.
  const later = ['later-on-first', 'later-on-second', 'later-on-third'];
  await makePods(later);
  const laterUids = await uidsOf(later);
  await kubectl('delete', 'pod', ...PODS);
  await snapshot('restore');

  for (const [index, host] of joined.entries()) {
    const [was = '', laterUid = ''] = [uids[index + 1], laterUids[index + 1]];
    await eventually(`${host.node} is Ready`, SOON_MS, async () => isReady(await cluster.get(NODES, '', host.node)));
    await eventually(
      `the pod of then runs on ${host.node}`,
      SOON_MS,
      async () => (await containersOn(host, was)) !== '',
    );
    await eventually(`the later pod is gone from ${host.node}`, SOON_MS, async () => {
      return (await containersOn(host, laterUid)) === '';
    });
  }
  await eventually('the pods are those of then, and Ready', SOON_MS, async () => {
    const pods = await cluster.pods(namespace.name);
    expect(pods.map(({ metadata }) => metadata.uid).toSorted()).toEqual(uids.toSorted());
    expect(pods.every(isReady)).toBe(true);
    return true;
  });
  for (const [from, to] of PAIRS) {
    await untilReached(from, to, `${to}.${namespace.name}.svc.cluster.local`);
    await untilReached(to, from, `${from}.${namespace.name}.svc.cluster.local`);
  }
});

test('leave removes from each host all that join and the pods made there', async () => {
  for (const [index, host] of joined.entries()) {
    expect(await stateOf(host.lab)).not.toBe(before[index]);
    await leave(host);
    // The kernel may still be removing what is no longer needed.
    await eventually('the host is as it was', SOON_MS, async () => {
      expect(await stateOf(host.lab)).toBe(before[index]);
      return true;
    });
  }
});
