import {
  CONFIG_MAPS,
  DEPLOYMENTS,
  type KubeObject,
  NAMESPACES,
  NODES,
  PODS,
  REPLICA_SETS,
  type Resource,
} from '@gantry/objects';
import { seededRandom } from '@gantry/base';
import { testSeed } from '@gantry/base/testing';
import { expect, test } from 'vitest';
import { Cluster, nginxDeployment } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';

const cluster = new Cluster();
const RESOURCES: readonly Resource[] = [NODES, PODS, DEPLOYMENTS, REPLICA_SETS, CONFIG_MAPS];

async function uids(): Promise<readonly string[]> {
  const lists = await Promise.all(RESOURCES.map((resource) => cluster.list<KubeObject>(resource)));
  return lists
    .flat()
    .map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name} ${metadata.uid}`)
    .toSorted();
}

test('every container of the cluster restarted, in random order: the same objects and pods come back', async () => {
  await using namespace = await cluster.namespace();
  await cluster.create(DEPLOYMENTS, namespace.name, nginxDeployment('web', 3));
  await cluster.untilRolledOut(namespace.name, 'web');
  await eventually('what earlier tests have left is gone', 180_000, async () => {
    const namespaces = await cluster.list(NAMESPACES);
    if (namespaces.some(({ metadata }) => metadata.deletionTimestamp !== undefined)) return false;
    // The API server lets a pod that runs nothing go before its node has removed what is left of it.
    const ofPods = ['--filter', `label=gantry.cluster=${cluster.clusterId}`, '--filter', 'label=io.kubernetes.pod.uid'];
    const running = await cluster.docker(['ps', ...ofPods, '--format', '{{.Label "io.kubernetes.pod.uid"}}']);
    const pods = new Set((await cluster.pods('')).map(({ metadata }) => metadata.uid));
    return running.split('\n').every((uid) => pods.has(uid));
  });
  const before = await uids();
  const containers = await cluster.podContainers();

  const services = (await cluster.containers()).filter(({ service }) => service !== 'pki');
  const random = seededRandom(testSeed('order of restarts', 1 + Math.floor(Math.random() * 2 ** 31)));
  const order = services.map((container) => ({ container, at: random() })).toSorted((one, other) => one.at - other.at);
  await Promise.all(order.map(({ container }) => cluster.docker(['restart', '-t', '5', container.id], 300_000)));

  await eventually(
    'the API is ready',
    180_000,
    async () => (await cluster.mustKubectl(['get', '--raw', '/readyz'])) === 'ok',
  );
  await cluster.untilNodesReady(2);
  await cluster.untilRolledOut(namespace.name, 'web');
  await eventually('the same objects are there', 120_000, async () => {
    expect(await uids()).toEqual(before);
    return true;
  });
  expect((await cluster.podContainers()).toSorted()).toEqual(containers.toSorted());
});
