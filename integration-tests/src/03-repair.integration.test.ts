import { DEPLOYMENTS, type Pod, PODS } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster, isReady, nginxDeployment } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';

const cluster = new Cluster();
const containersOf = (pod: Pod, name = 'nginx') =>
  cluster.podContainers([
    `label=io.kubernetes.pod.uid=${pod.metadata.uid}`,
    `label=io.kubernetes.container.name=${name}`,
  ]);

async function onlyPod(namespace: string): Promise<Pod> {
  await cluster.create(DEPLOYMENTS, namespace, nginxDeployment('web', 1));
  await cluster.untilRolledOut(namespace, 'web');
  const [pod] = await cluster.pods(namespace);
  if (pod === undefined) throw new Error('the Deployment has no pod');
  return pod;
}

test('a killed container is restarted, once', async () => {
  await using namespace = await cluster.namespace();
  const pod = await onlyPod(namespace.name);
  const [container = ''] = await containersOf(pod);
  await cluster.docker(['kill', container]);
  const after = await eventually('the container runs again', 120_000, async () => {
    const found = await cluster.get(PODS, namespace.name, pod.metadata.name ?? '');
    return isReady(found) && found.status?.containerStatuses?.[0]?.restartCount === 1 ? found : undefined;
  });
  expect(after.metadata.uid).toBe(pod.metadata.uid);
  expect(after.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode).toBe(137);
  expect((await containersOf(pod)).length).toBe(1);
});

test('a deleted pod is replaced, and its containers are gone', async () => {
  await using namespace = await cluster.namespace();
  const pod = await onlyPod(namespace.name);
  await cluster.mustKubectl(['-n', namespace.name, 'delete', 'pod', pod.metadata.name ?? '']);
  await cluster.untilRolledOut(namespace.name, 'web');
  const pods = await cluster.pods(namespace.name);
  expect(pods.map(({ metadata }) => metadata.uid)).not.toContain(pod.metadata.uid);
  await eventually('nothing of the pod is left', 120_000, async () => {
    const left = await cluster.podContainers([`label=io.kubernetes.pod.uid=${pod.metadata.uid}`], 'all');
    return left.length === 0;
  });
});

test("a pod whose containers are removed behind the agent's back gets new ones", async () => {
  await using namespace = await cluster.namespace();
  const pod = await onlyPod(namespace.name);
  const all = await cluster.podContainers([`label=io.kubernetes.pod.uid=${pod.metadata.uid}`], 'all');
  await cluster.docker(['rm', '-f', ...all]);
  await eventually('the pod runs again', 120_000, async () => {
    const [running] = await containersOf(pod);
    const found = await cluster.get(PODS, namespace.name, pod.metadata.name ?? '');
    return running !== undefined && !all.includes(running) && isReady(found);
  });
});
