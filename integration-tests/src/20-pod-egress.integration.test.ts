import { PODS } from '@gantry/objects';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { type Result, runProgram } from './harness/process.ts';

const cluster = new Cluster();
const METADATA = '169.254.169.254 80';
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

/** What a connection from the pod ends with; '' when it was made. */
async function connect(target: string): Promise<string> {
  const { code, stderr } = await inPod(`nc -w 3 ${target} </dev/null`);
  return code === 0 ? '' : stderr.trim();
}

/** Addresses of a service's containers on one of the cluster's networks. */
async function addressesOf(service: string, network: 'control' | 'pods'): Promise<readonly string[]> {
  const ids = (await cluster.containers(service)).map(({ id }) => id);
  const name = `${cluster.clusterId}-${network}`;
  const format = `{{(index .NetworkSettings.Networks "${name}").IPAddress}}`;
  return (await cluster.docker(['inspect', '-f', format, ...ids])).split('\n');
}

const busybox = (script: string) =>
  cluster.docker(['run', '--rm', '--network', 'host', '--cap-add', 'NET_ADMIN', 'busybox:1.36', 'sh', '-c', script]);

test('a pod reaches the API, and neither etcd, nor a service by its control address, nor metadata services', async () => {
  for (const address of await addressesOf('apiserver', 'pods')) expect(await connect(`${address} 6443`)).toBe('');
  const closed = [
    ...(await addressesOf('etcd-0', 'control')).flatMap((address) => [`${address} 2379`, `${address} 2380`]),
    ...(await addressesOf('apiserver', 'control')).flatMap((address) => [`${address} 6443`, `${address} 6444`]),
    ...(await addressesOf('agent', 'control')).map((address) => `${address} 10250`),
    ...[METADATA, '169.254.170.2 80', '100.100.100.200 80', '168.63.129.16 80', '192.0.0.192 80'],
  ];
  // The kernel limits how often it says why: some attempts time out.
  const ends = await Promise.all(closed.map(async (target) => [target, await connect(target)] as const));
  for (const [target, end] of ends) expect(end, target).toMatch(/No route to host|timed out/);
});

test("a pod gets no answer from an engine's ports of its host, whether one listens or not", async () => {
  const [, gateway = ''] = /^default via (\S+)/m.exec((await inPod('ip route')).stdout) ?? [];
  // A port that is not closed, on which no program listens.
  expect(await connect(`${gateway} 2379`)).toMatch(/refused/);
  const ends = await Promise.all([2375, 2376, 2377].map(async (port) => await connect(`${gateway} ${port}`)));
  for (const end of ends) expect(end).toMatch(/timed out/);
});

test('the rules come back after they were removed', async () => {
  const rules = async (first = '') =>
    (await busybox(`${first} ip rule`)).split('\n').filter((rule) => /^10[01]:/.test(rule));
  const before = await rules();
  // Looked at in the same breath: they are back soon.
  expect((await rules('ip rule del pref 101; ip rule del pref 100;')).length).toBeLessThan(before.length);
  await eventually('all rules are there', 60_000, async () => (await rules()).length === before.length);
  expect(await connect(METADATA)).toMatch(/No route to host|timed out/);
});

test('a service on both networks carries no packets from one to the other', async () => {
  for (const { id } of [...(await cluster.containers('apiserver')), ...(await cluster.containers('agent'))]) {
    expect(await cluster.docker(['exec', id, 'cat', '/proc/sys/net/ipv4/ip_forward'])).toBe('0');
  }
});
