import { DEPLOYMENTS, type Node, NODES, NOT_READY_TAINT, type Pod, PODS, quantityValue } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster, isReady, nginxDeployment } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { type RecordedWatch, recordWatch, untilSeen } from './harness/recorded-watch.ts';

const cluster = new Cluster();
/** New agents have these settings. */
const scaleAgents = (count: number, settings: Readonly<Record<string, string>> = {}) =>
  cluster.compose(['up', '-d', '--no-build', '--no-recreate', '--scale', `agent=${count}`], 300_000, settings);
const MIB = 2 ** 20;
/** What pods may use of a new node: so little that one pod can take it. */
const SMALL_NODE_MIB = 200;

/** The volumes with the keys of the agents that run. */
async function keyVolumes(): Promise<ReadonlySet<string>> {
  const ids = (await cluster.containers('agent')).map(({ id }) => id);
  const format = '{{range .Mounts}}{{if eq .Destination "/var/lib/gantry-keys"}}{{.Name}}{{end}}{{end}}';
  return new Set((await cluster.docker(['inspect', '-f', format, ...ids])).split('\n'));
}

test('agents come and go: nodes join, pods spread, and nothing is left of those that went', async () => {
  await using namespace = await cluster.namespace();
  const before = (await cluster.nodes()).map(({ metadata }) => metadata.name);
  await using registrations = await recordWatch(cluster, NODES, '');
  const host = Number(await cluster.docker(['info', '-f', '{{.MemTotal}}']));
  const reservedMib = Math.floor(host / 5 / MIB) - SMALL_NODE_MIB;
  await scaleAgents(5, {
    GANTRY_RESERVED_MEMORY_MIB: String(reservedMib),
    GANTRY_EVICTION_PRESSURE_TRANSITION_SECONDS: '600',
    GANTRY_NODE_LABELS: 'example.com/pool=new,topology.kubernetes.io/zone=rack-1',
    GANTRY_REGISTER_WITH_TAINTS: 'example.com/new=yes:NoSchedule',
  });
  await cluster.untilNodesReady(5);
  await checkRegistration(registrations, before);
  await checkReservation(before, reservedMib * MIB);
  await cluster.create(DEPLOYMENTS, namespace.name, nginxDeployment('web', 10));
  await cluster.untilRolledOut(namespace.name, 'web', 300_000);
  const nodes = new Set((await cluster.pods(namespace.name)).map((pod) => pod.spec?.nodeName));
  expect(nodes.size).toBe(5);
  const keys = await keyVolumes();
  expect(keys.size).toBe(5);
  await exhaust(namespace.name, [...nodes].find((node) => node !== undefined && !before.includes(node)) ?? '');
  const gone = [...nodes].filter((node) => node !== undefined && !before.includes(node));
  const seen = await startLeaving(namespace.name, gone.at(-1) ?? '', before[0] ?? '');

  await scaleAgents(2);
  await cluster.untilNodesReady(2, 300_000);
  await cluster.untilRolledOut(namespace.name, 'web', 300_000);
  await eventually('no container of the nodes that went is left', 180_000, async () => {
    const left = await Promise.all(gone.map((node) => cluster.podContainers([`label=gantry.node=${node}`], 'all')));
    return left.flat().length === 0;
  });
  expect((await cluster.nodes()).map(({ metadata }) => metadata.name).toSorted()).toEqual(before.toSorted());
  expect(await seen()).toEqual(['/before', '/term', '/end']);
  await eventually('no key of the agents that went is left', 60_000, async () => {
    const volumes = new Set((await cluster.docker(['volume', 'ls', '-q'])).split('\n'));
    const left = [...keys].filter((volume) => volumes.has(volume));
    return left.length === 2;
  });
});

/**
 * A new Node is tainted from its first moment on, as not ready by the API server and as its agent's settings say. It loses the former when
 * it is ready, the latter when an administrator takes it away, and gets neither back.
 */
async function checkRegistration(registrations: RecordedWatch<Node>, before: readonly unknown[]): Promise<void> {
  await untilSeen(cluster, registrations, NODES, '');
  const added = registrations.events.flatMap((event) => (event.type === 'ADDED' ? [event.object] : []));
  const names = added.map(({ metadata }) => metadata.name ?? '');
  expect(names).toHaveLength(3);
  expect(before).not.toEqual(expect.arrayContaining(names));
  const taint = { key: 'example.com/new', value: 'yes', effect: 'NoSchedule' };
  for (const { metadata, spec } of added) {
    expect(metadata.labels).toMatchObject({ 'example.com/pool': 'new', 'topology.kubernetes.io/zone': 'rack-1' });
    expect(spec?.taints).toEqual([taint, { key: NOT_READY_TAINT, effect: 'NoSchedule' }]);
  }
  await cluster.mustKubectl(['taint', 'nodes', '--selector=example.com/pool=new', 'example.com/new-']);
  await eventually('the new Nodes have no taint', 120_000, async () => {
    const nodes = await cluster.nodes();
    return nodes.every(({ spec }) => (spec?.taints ?? []).length === 0);
  });
}

/** Pods may use what a node has, without what its agent's settings reserve. */
async function checkReservation(before: readonly unknown[], reservedBytes: number): Promise<void> {
  for (const { metadata, status } of await cluster.nodes()) {
    const { capacity = {}, allocatable = {} } = status ?? {};
    const reserved = before.includes(metadata.name) ? 0 : reservedBytes;
    expect(quantityValue(capacity['memory'] ?? '') - quantityValue(allocatable['memory'] ?? '')).toBe(reserved);
    for (const name of ['cpu', 'ephemeral-storage', 'pods']) expect(allocatable[name]).toBe(capacity[name]);
  }
}

/**
 * A pod on `node` that does its last work in its own time: a hook before it is stopped, then some seconds after SIGTERM. It reports each to a
 * server on another node. Returns what that server has seen.
 */
async function startLeaving(namespace: string, node: string, other: string): Promise<() => Promise<readonly string[]>> {
  const busybox = (script: string) => ({ name: 'main', image: 'busybox:1.36', command: ['sh', '-c', script] });
  await cluster.create(PODS, namespace, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'server' },
    spec: { nodeName: other, containers: [busybox('exec httpd -f -vv -p 8080')] },
  });
  const address = await eventually('the server runs', 120_000, async () => {
    const { status } = await cluster.get(PODS, namespace, 'server');
    return status?.phase === 'Running' ? status.podIP : undefined;
  });
  const report = (what: string) => `wget -q -T 20 -O /dev/null http://${address}:8080/${what}`;
  const leave = busybox(
    `trap '${report('term')}; sleep 8; ${report('end')}; exit 0' TERM; while :; do sleep 0.2; done`,
  );
  const preStop = { exec: { command: ['sh', '-c', `${report('before')}; true`] } };
  await cluster.create(PODS, namespace, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'leaving' },
    spec: { nodeName: node, terminationGracePeriodSeconds: 60, containers: [{ ...leave, lifecycle: { preStop } }] },
  });
  await eventually('the pod that will leave runs', 120_000, async () =>
    isReady(await cluster.get(PODS, namespace, 'leaving')),
  );
  return async () => {
    const log = await cluster.mustKubectl(['-n', namespace, 'logs', 'server']);
    return [...log.matchAll(/url:(\/\w+)/g)].map(([, path = '']) => path);
  };
}

/**
 * Makes a small node short of memory: the pod that is furthest above its request is evicted, alone, and no pod that requests none is taken
 * any more.
 */
async function exhaust(namespace: string, node: string): Promise<void> {
  const pod = (name: string, script: string, requests: Record<string, string> = {}): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      nodeName: node,
      restartPolicy: 'Never',
      containers: [
        {
          name: 'main',
          image: 'busybox:1.36',
          command: ['sh', '-c', script],
          resources: { requests },
          volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
        },
      ],
      volumes: [{ name: 'scratch', emptyDir: { medium: 'Memory' } }],
    },
  });
  const fill = (mib: number) => `dd if=/dev/zero of=/scratch/file bs=1M count=${mib}; sleep 1000`;
  // The first of these uses no less than the one that is evicted, but no more than it requests.
  const modest = [pod('within', fill(50), { memory: '70Mi' }), pod('little', fill(8))];
  for (const one of modest) {
    await cluster.create(PODS, namespace, one);
    // A node that is short of memory takes none that requests nothing.
    await eventually(`${one.metadata.name} runs`, 120_000, async () =>
      isReady(await cluster.get(PODS, namespace, one.metadata.name ?? '')),
    );
  }
  await cluster.create(PODS, namespace, pod('greedy', fill(50), { memory: '5Mi' }));
  await eventually('the pod that takes the memory of its node is evicted', 120_000, async () => {
    const { status } = await cluster.get(PODS, namespace, 'greedy');
    return status?.phase === 'Failed' && status.reason === 'Evicted';
  });
  const { status } = await cluster.get(PODS, namespace, 'greedy');
  expect(status?.message).toMatch(
    /^The node was low on resource: memory\. Threshold quantity: 100Mi, available: \d+(Ki|Mi)?\. Container main was using \d+(Ki|Mi)?, request is 5Mi, has larger consumption of memory\. $/,
  );
  const disruption = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' };
  expect(status?.conditions).toContainEqual(expect.objectContaining(disruption));
  await eventually('the node shows its pressure, and is tainted', 120_000, async () => {
    const { spec, status: shown } = await cluster.get(NODES, '', node);
    const condition = shown?.conditions?.find(({ type }) => type === 'MemoryPressure');
    const taint = spec?.taints?.find(({ key }) => key === 'node.kubernetes.io/memory-pressure');
    return condition?.reason === 'KubeletHasInsufficientMemory' && taint?.effect === 'NoSchedule';
  });
  await cluster.create(PODS, namespace, pod('late', 'sleep 1000'));
  await eventually('a pod that requests nothing is refused', 120_000, async () => {
    const { status: late } = await cluster.get(PODS, namespace, 'late');
    return late?.message === 'Pod was rejected: The node had condition: [MemoryPressure]. ';
  });
  for (const { metadata } of modest) {
    const { status: kept } = await cluster.get(PODS, namespace, metadata.name ?? '');
    expect(kept?.phase).toBe('Running');
  }
}
