/** What `kubectl debug` makes other than a container in a running pod: copies of pods, and pods that look at a node. */
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PODS } from '@gantry/objects';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';

const cluster = new Cluster();
const IMAGE = 'busybox:1.36';
const PATIENCE_MS = 120_000;
let namespace: Awaited<ReturnType<Cluster['namespace']>>;

beforeAll(async () => {
  namespace = await cluster.namespace();
  const container = { name: 'main', image: IMAGE, command: ['sh', '-c', 'echo original; exec sleep 3600'] };
  await cluster.create(PODS, namespace.name, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'app', labels: { app: 'app' } },
    spec: { terminationGracePeriodSeconds: 0, containers: [container] },
  });
});
afterAll(() => namespace[Symbol.asyncDispose]());

const [oldest = cluster.newest] = cluster.kubectls;

describe.each([
  { client: 'the oldest kubectl', version: oldest },
  { client: 'the newest kubectl', version: cluster.newest },
])('$client', ({ client, version }) => {
  const kubectl = (...args: string[]) => cluster.mustKubectl(['-n', namespace.name, ...args], { version });
  const suffix = client.includes('oldest') ? 'old' : 'new';
  const logged = (pod: string, container: string, text: string) =>
    eventually(`${container} of ${pod} says ${text}`, PATIENCE_MS, async () => {
      const { stdout } = await cluster.kubectl(['-n', namespace.name, 'logs', pod, '-c', container], { version });
      return stdout.includes(text);
    });

  test('a copy of a pod has another command', async () => {
    const copy = `command-${suffix}`;
    await kubectl('debug', 'app', `--copy-to=${copy}`, '--container=main', '--', 'sh', '-c', 'echo copied; sleep 3600');
    await logged(copy, 'main', 'copied');
    await logged('app', 'main', 'original');
  });

  test('a copy of a pod has another image, and a container that sees its processes', async () => {
    const copy = `shared-${suffix}`;
    const look = [
      '--container=look',
      `--image=${IMAGE}`,
      '--',
      'sh',
      '-c',
      'until ps | grep -q "[s]leep 3600"; do :; done; echo seen',
    ];
    await kubectl('debug', 'app', `--copy-to=${copy}`, '--share-processes', ...look);
    await logged(copy, 'look', 'seen');
    const other = `image-${suffix}`;
    await kubectl('debug', 'app', `--copy-to=${other}`, '--set-image=main=busybox:latest');
    await logged(other, 'main', 'original');
    expect((await cluster.get(PODS, namespace.name, other)).spec?.containers[0]?.image).toBe('busybox:latest');
  });

  test('a pod on a node sees the files and the processes of its host', async () => {
    const [node = ''] = (await kubectl('get', 'nodes', '-o', 'jsonpath={.items[*].metadata.name}')).split(' ');
    const script = 'ls -d /host/etc && cat /proc/1/comm && hostname';
    const { stdout, stderr } = await cluster.kubectl(
      ['-n', namespace.name, 'debug', `node/${node}`, `--image=${IMAGE}`, '--', 'sh', '-c', script],
      { version },
    );
    const name = /node-debugger-[-a-z0-9.]+/.exec(stdout + stderr)?.[0] ?? '';
    const { spec } = await eventually('it has ended', PATIENCE_MS, async () => {
      const pod = await cluster.get(PODS, namespace.name, name);
      return pod.status?.phase === 'Succeeded' ? pod : undefined;
    });
    expect(spec).toMatchObject({ nodeName: node, hostNetwork: true, hostPID: true });
    const lines = (await kubectl('logs', name)).split('\n');
    expect(lines[0]).toBe('/host/etc');
    expect(lines[1]).not.toBe('sh');
    expect(lines[1]).not.toBe('pause');
  });
});

test('a profile gives the container that looks its rights', async () => {
  const kubectl = (...args: string[]) => cluster.mustKubectl(['-n', namespace.name, ...args]);
  await kubectl('wait', 'pod', 'app', '--for=condition=Ready', '--timeout=120s');
  await using folder = await mkdtempDisposable(join(tmpdir(), 'gantry-debug-'));
  const custom = join(folder.path, 'custom.json');
  // The profile wants a user other than root, whom the image does not name.
  await writeFile(custom, JSON.stringify({ securityContext: { runAsUser: 1000 } }));
  const look = ['--', 'grep', 'CapEff', '/proc/self/status'];
  await kubectl(
    'debug',
    'app',
    `--image=${IMAGE}`,
    '--profile=restricted',
    `--custom=${custom}`,
    '-c',
    'restricted',
    ...look,
  );
  await kubectl('debug', 'app', `--image=${IMAGE}`, '--profile=netadmin', '-c', 'netadmin', ...look);
  const mayAdministerNetworks = async (container: string) => {
    const capabilities = await eventually(`${container} has ended`, PATIENCE_MS, async () => {
      const { stdout } = await cluster.kubectl(['-n', namespace.name, 'logs', 'app', '-c', container]);
      return /CapEff:\s*([0-9a-f]+)/.exec(stdout)?.[1];
    });
    // CAP_NET_ADMIN has the number 12.
    return (BigInt(`0x${capabilities}`) & (1n << 12n)) !== 0n;
  };
  expect(await mayAdministerNetworks('restricted')).toBe(false);
  expect(await mayAdministerNetworks('netadmin')).toBe(true);
});
