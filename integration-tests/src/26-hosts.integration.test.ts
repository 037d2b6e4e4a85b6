import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Node, NODES } from '@gantry/objects';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster, isReady } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { HostLab } from './harness/host-lab.ts';
import { runProgram } from './harness/process.ts';
import { ServicePods } from './harness/service-pods.ts';

/** A second machine: a network namespace with an engine of its own joins the cluster of the suite. */
const cluster = new Cluster();
const SOON_MS = 120_000;
const NUMBER = 7;
const NAME = `hosts-${process.pid}`;
const JOINED = `${NAME}-1`;
const ADDRESS = HostLab.gateway(NUMBER);
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

let lab: HostLab;
let before: string;
let home: string;
let namespace: Awaited<ReturnType<Cluster['namespace']>>;
let pods: ServicePods;
let first: Node;

const script = (name: string) => join(cluster.root, 'deploy/bin', name);

const leave = () => lab.must(script('leave'), [], { GANTRY_HOME: home });

/** What a host has of containers and of the network: names and rules, without counters. */
function stateOf(host: HostLab): Promise<string> {
  return host.must('sh', ['-c', STATE]);
}

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'gantry-joined-'));
  lab = await HostLab.create(NUMBER);
  // The engine's own rules come with its first network, and stay.
  await lab.must('docker', ['network', 'create', '--subnet', '10.231.100.0/24', 'first']);
  await lab.must('docker', ['network', 'rm', 'first']);
  before = await stateOf(lab);
  await cluster.up({ GANTRY_OVERLAYS: [...OVERLAYS, 'hosts'].join(','), GANTRY_HOST_ADDRESS: ADDRESS });
  const image = /^GANTRY_IMAGE=(.*)$/m.exec(readFileSync(join(cluster.home, 'env'), 'utf8'))?.[1] ?? '';
  await lab.load([image, 'debian:trixie-slim', 'registry.k8s.io/pause:3.10']);
  const printed = await runProgram(script('token'), [], { env: { GANTRY_HOME: cluster.home } });
  expect(printed.stdout).toMatch(
    new RegExp(`^npm run join -- --server ${ADDRESS} --token [a-z0-9.]+ --cluster \\S+$`, 'm'),
  );
  const args = printed.stdout.trim().split(' ').slice(4);
  await lab.must(script('join'), [...args, '--name', NAME], { GANTRY_HOME: home });
  await eventually(`${JOINED} is Ready`, SOON_MS, async () => isReady(await cluster.get(NODES, '', JOINED)));
  namespace = await cluster.namespace();
  pods = new ServicePods(cluster, namespace.name);
  first = (await cluster.nodes()).find(({ metadata }) => metadata.name !== JOINED) as Node;
  // A pod that is not evicted while its host is cut off.
  const tolerations = [{ operator: 'Exists', effect: 'NoExecute' }];
  const spec = { ...(await pods.serverSpec()), tolerations };
  await pods.server('here', first.metadata.name ?? '', 0, spec);
  await pods.server('there', JOINED, 0, spec);
  for (const name of ['here', 'there']) await pods.untilReady(name);
  for (const name of ['here', 'there']) await kubectl('expose', 'pod', name, '--port=80', '--target-port=8080');
}, 600_000);

afterAll(async () => {
  await namespace?.[Symbol.asyncDispose]();
  if (lab !== undefined) {
    try {
      await leave();
    } finally {
      await lab[Symbol.asyncDispose]();
    }
  }
  await cluster.kubectl(['delete', 'node', JOINED, '--ignore-not-found']);
  await rm(home, { recursive: true, force: true });
  await cluster.up({ GANTRY_HOST_ADDRESS: '' });
}, 600_000);

const kubectl = (...args: string[]) => cluster.mustKubectl(['-n', namespace.name, ...args]);

/** What a pod of any host is answered; the engine of the suite has only those of the first one. */
async function ask(from: string, target: string): Promise<string> {
  const script = `fetch('http://${target}').then((response) => response.text()).then(console.log)`;
  return (await kubectl('exec', from, '--', 'node', '-e', script)).trim();
}

test('each host has a range of its own, in all of its Nodes', async () => {
  const nodes = await cluster.nodes();
  const joined = nodes.find(({ metadata }) => metadata.name === JOINED);
  const range = joined?.spec?.podCIDR ?? '';
  expect(range).not.toBe('');
  expect(range).not.toBe(first.spec?.podCIDR);
  expect(joined?.metadata.annotations?.['gantry.dev/host-address']).toBe(lab.address);
  for (const { metadata, spec } of nodes) if (metadata.name !== JOINED) expect(spec?.podCIDR).toBe(first.spec?.podCIDR);
});

test('pods, Services and names are reached across hosts, in both directions, and commands of kubectl', async () => {
  for (const [from, to] of [
    ['here', 'there'],
    ['there', 'here'],
  ] as const) {
    const address = await kubectl('get', 'pod', to, '-o', 'jsonpath={.status.podIP}');
    const own = await kubectl('get', 'pod', from, '-o', 'jsonpath={.status.podIP}');
    for (const target of [`${address}:8080`, `${to}.${namespace.name}.svc.cluster.local`]) {
      // Senders keep their address.
      await eventually(`${from} reaches ${target}`, SOON_MS, async () => {
        const answer = await ask(from, target);
        if (answer === `${to} ${own}`) return true;
        throw new Error(`it was ${answer}`);
      });
    }
  }
  expect(await kubectl('logs', 'there')).toBe('');
  expect(await kubectl('exec', 'there', '--', 'hostname')).toBe('there\n');
});

test('a cut link is seen, and what was cut off comes back when it heals', async () => {
  await lab.setLink('down');
  const ready = async () => isReady(await cluster.get(NODES, '', JOINED));
  await eventually(`${JOINED} is not Ready`, SOON_MS, async () => !(await ready()));
  await lab.setLink('up');
  await eventually(`${JOINED} is Ready again`, SOON_MS, ready);
  await eventually('here reaches there again', SOON_MS, async () => {
    const answer = await ask('here', `there.${namespace.name}`);
    if (answer.startsWith('there ')) return true;
    throw new Error(`it was ${answer}`);
  });
});

test('leave removes from the host all that join and the pods made there', async () => {
  expect(await stateOf(lab)).not.toBe(before);
  await leave();
  expect(await stateOf(lab)).toBe(before);
});
