import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PODS } from '@gantry/objects';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { type Result, runProgram } from './harness/process.ts';

const cluster = new Cluster();
/** Of clouds: link-local ones, Alibaba Cloud's, Azure's and Oracle Cloud's. */
const METADATA = ['169.254.169.254', '169.254.170.2', '100.100.100.200', '168.63.129.16', '192.0.0.192'];
/** For an answer that must come. */
const ANSWER_SECONDS = 60;
let namespace: Awaited<ReturnType<Cluster['namespace']>>;

beforeAll(async () => {
  namespace = await cluster.namespace();
  await cluster.create(PODS, namespace.name, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'client' },
    spec: {
      containers: [{ name: 'client', image: 'busybox:1.36', command: ['sleep', '3600'] }],
      terminationGracePeriodSeconds: 0,
    },
  });
});
afterAll(async () => {
  await namespace[Symbol.asyncDispose]();
});

/** Runs a script in the pod. */
async function inPod(script: string): Promise<Result> {
  const id = await eventually('the pod runs', 120_000, async () => {
    const labels = ['io.kubernetes.container.name=client', `io.kubernetes.pod.namespace=${namespace.name}`];
    return (await cluster.podContainers(labels.map((label) => `label=${label}`)))[0];
  });
  return await runProgram('docker', ['exec', id, 'sh', '-c', script]);
}

/** What a connection from the pod ends with; '' when it was made. What is dropped takes all of the time. */
async function connect(target: string, seconds = ANSWER_SECONDS): Promise<string> {
  const { code, stderr } = await inPod(`nc -w ${seconds} ${target} </dev/null`);
  return code === 0 ? '' : stderr.trim();
}

/** Addresses of a service's containers on one of the cluster's networks. */
async function addressesOf(service: string, network: 'control' | 'pods'): Promise<readonly string[]> {
  const ids = (await cluster.containers(service)).map(({ id }) => id);
  const name = `${cluster.clusterId}-${network}`;
  const format = `{{(index .NetworkSettings.Networks "${name}").IPAddress}}`;
  return (await cluster.docker(['inspect', '-f', format, ...ids])).split('\n');
}

/** Runs a script in the host's network. */
const onHost = (script: string) =>
  cluster.docker(['run', '--rm', '--network', 'host', '--cap-add', 'NET_ADMIN', 'busybox:1.36', 'sh', '-c', script]);

/** What the host's kernel does with packets that come from the pod, by address. It says so also where nothing would answer. */
async function routesOf(addresses: readonly string[]): Promise<readonly string[]> {
  // A container that runs is not reported yet.
  const from = await eventually('the pod has its address', 120_000, async () => {
    const pod = await cluster.get(PODS, namespace.name, 'client');
    return pod.status?.podIP;
  });
  const script = addresses.map((address) => `ip route get ${address} from ${from} iif "$bridge" 2>&1 || true`);
  const bridge = `bridge=$(ip route get ${from} | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p')`;
  return (await onHost([bridge, ...script].join('\n'))).split('\n');
}

test('a pod reaches the API, and neither etcd, nor a service by its control address, nor metadata services', async () => {
  const open = await addressesOf('apiserver', 'pods');
  for (const address of open) expect(await connect(`${address} 6443`)).toBe('');
  const control = await Promise.all(
    ['etcd-0', 'apiserver', 'agent'].map(async (service) => await addressesOf(service, 'control')),
  );
  const closed = [...control.flat(), ...METADATA];
  const routes = await routesOf([...open, ...closed]);
  expect(routes.slice(0, open.length)).toEqual(open.map((address) => expect.stringContaining(`${address} from `)));
  // What the kernel answers for a rule that prohibits: without a route it would be another error.
  expect(routes.slice(open.length)).toEqual(closed.map(() => expect.stringContaining('Permission denied')));
  // The whole way, to a port that listens. The kernel limits how often it says why: the attempt may time out.
  expect(await connect(`${control[0]?.[0]} 2379`, 3)).toMatch(/No route to host|timed out/);
});

test("a pod gets no answer from an engine's ports of its host, whether one listens or not", async () => {
  const [, gateway = ''] = /^default via (\S+)/m.exec((await inPod('ip route')).stdout) ?? [];
  // A port that is not closed, on which no program listens.
  expect(await connect(`${gateway} 2379`)).toMatch(/refused/);
  const ends = await Promise.all([2375, 2376, 2377].map(async (port) => await connect(`${gateway} ${port}`, 3)));
  for (const end of ends) expect(end).toMatch(/timed out/);
});

test('the rules come back after they were removed', async () => {
  // Another cluster of the host has the same, for pods of its own, and may come or go.
  const [, pods = ''] = /^GANTRY_POD_CIDR=(.+)$/m.exec(await readFile(join(cluster.home, 'env'), 'utf8')) ?? [];
  const isOwn = (rule: string) => /^10[01]:/.test(rule) && rule.includes(`from ${pods} `);
  const rules = async () => (await onHost('ip rule')).split('\n').filter(isOwn);
  const before = await rules();
  expect(before.length).toBeGreaterThan(METADATA.length);
  // Their removal is known by its success: by the time of a list they may be back.
  await onHost(`ip rule del pref 101 from ${pods} && ip rule del pref 100 from ${pods}`);
  await eventually('all rules are there', 60_000, async () => (await rules()).length === before.length);
  expect(await routesOf(METADATA)).toEqual(METADATA.map(() => expect.stringContaining('Permission denied')));
});

test('a service on both networks carries no packets from one to the other', async () => {
  for (const { id } of [...(await cluster.containers('apiserver')), ...(await cluster.containers('agent'))]) {
    expect(await cluster.docker(['exec', id, 'cat', '/proc/sys/net/ipv4/ip_forward'])).toBe('0');
  }
});
