import { type Deployment, DEPLOYMENTS, type Pod, PODS } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster, isReady, nginxDeployment } from './harness/cluster.ts';
import { recordWatch, untilSeen } from './harness/recorded-watch.ts';

const cluster = new Cluster();

/** Pods that count towards a Deployment's number, and those of them that are available. */
const counted = (pods: readonly Pod[]) =>
  pods.filter(({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.phase !== 'Failed');
const available = (pods: readonly Pod[]) => counted(pods).filter(isReady);

test('scaling from 2 to 20 and to 1 keeps the pods that are there', async () => {
  await using namespace = await cluster.namespace();
  await cluster.create(DEPLOYMENTS, namespace.name, nginxDeployment('web', 2));
  await cluster.untilRolledOut(namespace.name, 'web');
  const first = (await cluster.pods(namespace.name)).map(({ metadata }) => metadata.uid);
  await using watch = await recordWatch<Pod>(cluster, PODS, namespace.name);

  await cluster.mustKubectl(['-n', namespace.name, 'scale', 'deployment', 'web', '--replicas=20']);
  await cluster.untilRolledOut(namespace.name, 'web', 300_000);
  const all = (await cluster.pods(namespace.name)).map(({ metadata }) => metadata.uid);
  expect(all.length).toBe(20);
  expect(all).toEqual(expect.arrayContaining(first));

  await cluster.mustKubectl(['-n', namespace.name, 'scale', 'deployment', 'web', '--replicas=1']);
  await cluster.untilRolledOut(namespace.name, 'web', 300_000);
  await untilSeen(cluster, watch, PODS, namespace.name);
  expect(watch.failure()).toBeUndefined();
  expect(Math.max(...watch.states.map((pods) => counted(pods).length))).toBe(20);
  expect(Math.min(...watch.states.map((pods) => available(pods).length))).toBeGreaterThanOrEqual(1);
});

test('a rolling update keeps within maxSurge and maxUnavailable at every event; undo restores the template', async () => {
  await using namespace = await cluster.namespace();
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 2, maxUnavailable: 1 } };
  await cluster.create(DEPLOYMENTS, namespace.name, nginxDeployment('web', 6, { strategy } as Deployment['spec']));
  const before = await cluster.untilRolledOut(namespace.name, 'web');
  await using watch = await recordWatch<Pod>(cluster, PODS, namespace.name);

  await cluster.mustKubectl(['-n', namespace.name, 'set', 'image', 'deployment/web', 'nginx=nginx:1.9.1']);
  await cluster.untilRolledOut(namespace.name, 'web', 300_000);
  await cluster.mustKubectl(['-n', namespace.name, 'rollout', 'undo', 'deployment/web']);
  const after = await cluster.untilRolledOut(namespace.name, 'web', 300_000);
  await untilSeen(cluster, watch, PODS, namespace.name);

  expect(watch.failure()).toBeUndefined();
  expect(Math.max(...watch.states.map((pods) => counted(pods).length))).toBeLessThanOrEqual(6 + 2);
  expect(Math.min(...watch.states.map((pods) => available(pods).length))).toBeGreaterThanOrEqual(6 - 1);
  expect(after.spec?.template).toEqual(before.spec?.template);
});
