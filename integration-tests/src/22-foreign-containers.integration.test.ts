import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CONTAINER_LABELS, prepareContainers } from '@gantry/etcd/testing';
import { GenericContainer, type StartedTestContainer } from 'testcontainers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { runProgram } from './harness/process.ts';

const IMAGE = 'busybox:1.36';

const cluster = new Cluster();
const stack = new AsyncDisposableStack();

/** A container that belongs to no cluster but the one that its labels name. */
function startContainer(labels: Readonly<Record<string, string>>): Promise<StartedTestContainer> {
  return new GenericContainer(IMAGE)
    .withLabels({ ...CONTAINER_LABELS, ...labels })
    .withCommand(['sleep', '3600'])
    .start();
}

/** The labels of a pod's container as agents set them. */
function podLabels(node: string, uid: string, name = 'web'): Readonly<Record<string, string>> {
  return {
    'gantry.node': node,
    'io.kubernetes.pod.uid': uid,
    'io.kubernetes.pod.name': name,
    'io.kubernetes.pod.namespace': 'default',
    'io.kubernetes.container.name': 'POD',
    'io.kubernetes.container.restartCount': '0',
    'io.kubernetes.pod.terminationGracePeriod': '0',
  };
}

async function isRunning(id: string): Promise<boolean> {
  const { code, stdout } = await runProgram('docker', ['inspect', '-f', '{{.State.Running}} {{.RestartCount}}', id]);
  return code === 0 && stdout.trim() === 'true 0';
}

const isGone = async (id: string) => (await runProgram('docker', ['inspect', id])).code !== 0;

afterAll(() => stack.disposeAsync());

describe('containers that only look like those of the cluster', () => {
  const lookalikes = new Map<string, string>();

  beforeAll(async () => {
    await prepareContainers();
    const namespace = stack.use(await cluster.namespace());
    const name = 'original';
    await cluster.mustKubectl(['run', name, '-n', namespace.name, '--image=registry.k8s.io/pause:3.10']);
    await cluster.mustKubectl(['wait', '--for=condition=Ready', `pod/${name}`, '-n', namespace.name, '--timeout=120s']);
    const [pod] = await cluster.pods(namespace.name);
    const { uid = '' } = pod?.metadata ?? {};
    const node = pod?.spec?.nodeName ?? '';
    const compose = { 'com.docker.compose.service': 'agent', 'com.docker.compose.container-number': '1' };
    const labels: Readonly<Record<string, Readonly<Record<string, string>>>> = {
      'of a cluster whose id begins with this one': {
        'gantry.cluster': `${cluster.clusterId}-2`,
        ...podLabels(node, uid, name),
      },
      'of a pod, without a cluster': podLabels(node, uid, name),
      'of a cluster without an id': { 'gantry.cluster': '', ...podLabels(node, uid, name) },
      'with the id in another label': { 'gantry.cluster.id': cluster.clusterId, ...podLabels(node, uid, name) },
      'of a Compose project whose name begins with this one': {
        'com.docker.compose.project': `${cluster.clusterId}-2`,
        ...compose,
      },
    };
    for (const [what, own] of Object.entries(labels)) {
      const container = await startContainer(own);
      stack.defer(async () => void (await container.stop({ timeout: 1000 })));
      lookalikes.set(what, container.getId());
    }
  });

  const untouched = async () => {
    for (const [what, id] of lookalikes) expect(await isRunning(id), what).toBe(true);
  };

  test('are left alone by agents and by the custodian', async () => {
    // Its cluster is this one, and its node none: what the custodian removes shows that it has looked.
    const left = await startContainer({ 'gantry.cluster': cluster.clusterId, ...podLabels('gone', 'gone') });
    // An agent that starts again adopts what is its own.
    const [agent] = await cluster.containers('agent');
    await cluster.docker(['restart', '-t', '1', agent?.id ?? '']);
    await eventually('the custodian has removed what a node has left', 180_000, () => isGone(left.getId()));
    await cluster.untilNodesReady((await cluster.containers('agent')).length);
    await untouched();
  });

  test('are left alone by `down`', async () => {
    const id = `${cluster.clusterId}-3`;
    const home = mkdtempSync(join(tmpdir(), 'gantry-down-'));
    try {
      const settings = readFileSync(join(cluster.home, 'env'), 'utf8');
      writeFileSync(join(home, 'env'), settings.replace(/^(GANTRY_CLUSTER_ID=).*$/m, `$1${id}`));
      const own = await startContainer({ 'gantry.cluster': id, ...podLabels('node', 'uid') });
      const down = join(cluster.root, 'deploy/bin/down');
      const result = await runProgram(down, [], { env: { GANTRY_HOME: home }, timeoutMs: 180_000 });
      expect(result.code, result.stderr).toBe(0);
      expect(await isGone(own.getId())).toBe(true);
      await untouched();
      for (const { name, state } of await cluster.containers()) {
        if (!name.includes('-pki-')) expect([name, state]).toEqual([name, 'running']);
      }
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});
