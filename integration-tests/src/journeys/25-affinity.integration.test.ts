/** Pods that have to be near each other, apart, or spread evenly, on a cluster of two nodes. */
import type { Pod } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster, isReady } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';

const cluster = new Cluster();
const PATIENCE_MS = 120_000;

/** Pods with the label `app: web` whose affinity to pods with that label, on one host, is of this kind. */
const setOf = (kind: 'Deployment' | 'StatefulSet', replicas: number, affinity: 'podAffinity' | 'podAntiAffinity') => `
apiVersion: apps/v1
kind: ${kind}
metadata: { name: web }
spec:
  replicas: ${replicas}
  ${kind === 'StatefulSet' ? 'podManagementPolicy: Parallel' : ''}
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      terminationGracePeriodSeconds: 1
      affinity:
        ${affinity}:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector: { matchLabels: { app: web } }
      containers:
        - { name: main, image: 'busybox:1.36', command: [sleep, '3600'] }
`;

const nodesOf = (pods: readonly Pod[]) => pods.map(({ spec }) => spec?.nodeName ?? '').sort();
const isLeaving = ({ metadata }: Pod) => metadata.deletionTimestamp !== undefined;

test('replicas that have to be apart get a node each, and one that finds none waits until another one is deleted', async () => {
  await using namespace = await cluster.namespace();
  const { name } = namespace;
  const kubectl = (args: readonly string[], input = '') => cluster.mustKubectl(['-n', name, ...args], { input });
  const nodes = (await cluster.nodes()).map(({ metadata }) => metadata.name ?? '').sort();
  expect(nodes).toHaveLength(2);

  await kubectl(['apply', '-f', '-'], setOf('Deployment', 2, 'podAntiAffinity'));
  await kubectl(['rollout', 'status', 'deployment/web', `--timeout=${PATIENCE_MS}ms`]);
  const first = await cluster.pods(name);
  expect(nodesOf(first)).toEqual(nodes);

  await kubectl(['scale', 'deployment', 'web', '--replicas=3']);
  const message =
    "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules. " +
    'preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.';
  await eventually('the third replica says why it waits', PATIENCE_MS, async () => {
    const third = (await cluster.pods(name)).find(({ spec }) => spec?.nodeName === undefined);
    const condition = third?.status?.conditions?.find(({ type }) => type === 'PodScheduled');
    return condition?.reason === 'Unschedulable' && condition.message === message;
  });
  expect(await kubectl(['get', 'pods'])).toContain('Pending');
  await eventually('an Event says so', PATIENCE_MS, async () => (await kubectl(['get', 'events'])).includes(message));

  const [gone] = first;
  await kubectl(['delete', 'pod', gone?.metadata.name ?? '']);
  await eventually('a replica that waited runs on its node', PATIENCE_MS, async () => {
    const placed = (await cluster.pods(name)).filter((pod) => isReady(pod) && !isLeaving(pod));
    const [next] = placed.filter(({ spec }) => spec?.nodeName === gone?.spec?.nodeName);
    return next !== undefined && next.metadata.uid !== gone?.metadata.uid && placed.length === 2;
  });
  await eventually('one replica waits', PATIENCE_MS, async () => {
    const waiting = (await cluster.pods(name)).filter(({ spec }) => spec?.nodeName === undefined);
    return waiting.length === 1;
  });
});

test('pods of a StatefulSet that have to be together are on one node', async () => {
  await using namespace = await cluster.namespace();
  const { name } = namespace;
  await cluster.mustKubectl(['-n', name, 'apply', '-f', '-'], { input: setOf('StatefulSet', 4, 'podAffinity') });
  await eventually('all pods run', PATIENCE_MS, async () => {
    const pods = await cluster.pods(name);
    return pods.length === 4 && pods.every(isReady);
  });
  expect(new Set(nodesOf(await cluster.pods(name))).size).toBe(1);
});

/** A pod on any node, or on this one, with the label `app: even`; where it is to be spread, by hosts. */
const evenPod = (name: string, { node = '', spread = true }: { node?: string; spread?: boolean } = {}) => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { app: even } }
spec:
  terminationGracePeriodSeconds: 1
  ${node === '' ? '' : `nodeSelector: { kubernetes.io/hostname: ${node} }`}
  containers:
    - { name: main, image: 'busybox:1.36', command: [sleep, '3600'] }
  topologySpreadConstraints: ${
    spread
      ? `
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: DoNotSchedule
      nodeAffinityPolicy: Ignore
      labelSelector: { matchLabels: { app: even } }`
      : '[]'
  }
---`;

test('pods that are to be spread get nodes in turns, and one that would be ahead waits for the other node', async () => {
  await using namespace = await cluster.namespace();
  const { name } = namespace;
  const kubectl = (args: readonly string[], input = '') => cluster.mustKubectl(['-n', name, ...args], { input });
  const [first = '', second = ''] = (await cluster.nodes()).map(({ metadata }) => metadata.name ?? '').sort();
  await kubectl(['apply', '-f', '-'], ['one', 'two', 'three', 'four'].map((pod) => evenPod(pod)).join(''));
  await kubectl(['wait', '--for=condition=Ready', 'pods', '--all', `--timeout=${PATIENCE_MS}ms`]);
  expect(nodesOf(await cluster.pods(name))).toEqual([first, first, second, second]);

  await kubectl(['apply', '-f', '-'], evenPod('ahead', { node: first }));
  await kubectl(['wait', '--for=condition=Ready', 'pod/ahead', `--timeout=${PATIENCE_MS}ms`]);
  await kubectl(['apply', '-f', '-'], evenPod('waits', { node: first }));
  const message =
    "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, " +
    "1 node(s) didn't match pod topology spread constraints.";
  await eventually('it says why it waits', PATIENCE_MS, async () => {
    const waiting = (await cluster.pods(name)).find(({ metadata }) => metadata.name === 'waits');
    const condition = waiting?.status?.conditions?.find(({ type }) => type === 'PodScheduled');
    return condition?.message?.startsWith(message) === true;
  });
  await kubectl(['apply', '-f', '-'], evenPod('catches-up', { node: second, spread: false }));
  await kubectl(['wait', '--for=condition=Ready', 'pod/waits', `--timeout=${PATIENCE_MS}ms`]);
});
