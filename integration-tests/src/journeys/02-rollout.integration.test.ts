import { type Deployment, DEPLOYMENTS, type Pod, PODS, REPLICATION_CONTROLLERS } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster, isReady, nginxDeployment } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { recordWatch, untilSeen } from '../harness/recorded-watch.ts';

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

const SETTLED_MS = 120_000;

/** The image of each counted pod. */
const imagesOf = (pods: readonly Pod[]) => counted(pods).map(({ spec }) => spec?.containers[0]?.image ?? '');

test('a paused Deployment is scaled, and rolled out when it is resumed; its history leads back', async () => {
  await using namespace = await cluster.namespace();
  const kubectl = (...args: string[]) => cluster.mustKubectl(['-n', namespace.name, ...args]);
  const only = (count: number, image: string) =>
    eventually(`${count} pods of ${image} and no others`, SETTLED_MS, async () => {
      const images = imagesOf(await cluster.pods(namespace.name));
      return images.length === count && images.every((one) => one === image);
    });
  await cluster.create(DEPLOYMENTS, namespace.name, nginxDeployment('web', 2));
  await cluster.untilRolledOut(namespace.name, 'web');

  await kubectl('rollout', 'pause', 'deployment/web');
  await kubectl('set', 'image', 'deployment/web', 'nginx=nginx:1.9.1');
  await kubectl('scale', 'deployment/web', '--replicas=4');
  await only(4, 'nginx:1.7.9');
  const condition = "-o=jsonpath={.status.conditions[?(@.type=='Progressing')].reason}";
  await eventually(
    'its status says so',
    SETTLED_MS,
    async () => (await kubectl('get', 'deployment/web', condition)) === 'DeploymentPaused',
  );

  await kubectl('rollout', 'resume', 'deployment/web');
  await cluster.untilRolledOut(namespace.name, 'web');
  await only(4, 'nginx:1.9.1');
  expect(await kubectl('rollout', 'history', 'deployment/web')).toMatch(/\n1 .*\n2 /);

  await kubectl('rollout', 'undo', 'deployment/web', '--to-revision=1');
  await cluster.untilRolledOut(namespace.name, 'web');
  await only(4, 'nginx:1.7.9');
  expect(await kubectl('rollout', 'history', 'deployment/web')).toMatch(/\n2 .*\n3 /);
});

test('a Deployment that is scaled while its rollout is stuck grows in proportion, and recovers by undo', async () => {
  await using namespace = await cluster.namespace();
  const kubectl = (...args: string[]) => cluster.mustKubectl(['-n', namespace.name, ...args]);
  const sizes = () =>
    kubectl('get', 'replicasets', '--sort-by=.metadata.creationTimestamp', '-o=jsonpath={.items[*].spec.replicas}');
  const areSized = (expected: string) =>
    eventually(`replica sets of ${expected}`, SETTLED_MS, async () => (await sizes()) === expected);
  await cluster.create(DEPLOYMENTS, namespace.name, nginxDeployment('web', 4));
  await cluster.untilRolledOut(namespace.name, 'web');

  await kubectl('set', 'image', 'deployment/web', 'nginx=registry.invalid/none:1');
  await areSized('3 2');
  await kubectl('scale', 'deployment/web', '--replicas=8');
  // 10 pods with the surge, of which the sets had three and two fifths.
  await areSized('6 4');

  await kubectl('rollout', 'undo', 'deployment/web');
  await cluster.untilRolledOut(namespace.name, 'web');
  expect(await sizes()).toBe('8 0');
});

test('a ReplicationController creates, replaces and adopts pods, and leaves them when it is told to', async () => {
  await using namespace = await cluster.namespace();
  const { name } = namespace;
  const kubectl = (...args: string[]) => cluster.mustKubectl(['-n', name, ...args]);
  const create = () =>
    cluster.create(REPLICATION_CONTROLLERS, name, {
      apiVersion: 'v1',
      kind: 'ReplicationController',
      metadata: { name: 'old' },
      spec: {
        replicas: 2,
        selector: { app: 'old' },
        template: {
          metadata: { labels: { app: 'old' } },
          spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'nginx', image: 'nginx:1.7.9' }] },
        },
      },
    });
  const uids = async () => counted(await cluster.pods(name)).map(({ metadata }) => metadata.uid);
  const isReadyWith = (count: number) =>
    eventually(`${count} ready pods of the ReplicationController`, SETTLED_MS, async () => {
      const status = '-o=jsonpath={.status.replicas} {.status.readyReplicas}';
      return (await kubectl('get', 'rc/old', status)) === `${count} ${count}`;
    });

  await create();
  await isReadyWith(2);
  const [first] = counted(await cluster.pods(name));
  await kubectl('delete', 'pod', first?.metadata.name ?? '');
  await isReadyWith(2);
  expect(await uids()).not.toContain(first?.metadata.uid);
  await kubectl('scale', 'rc/old', '--replicas=3');
  await isReadyWith(3);

  const before = await uids();
  await kubectl('delete', 'rc/old', '--cascade=orphan');
  expect(await uids()).toEqual(before);
  await create();
  await eventually('a pod too many is deleted', SETTLED_MS, async () => (await uids()).length === 2);
  expect(before).toEqual(expect.arrayContaining(await uids()));
  await eventually('its Event is there', SETTLED_MS, async () =>
    (await kubectl('describe', 'rc/old')).includes('SuccessfulDelete'),
  );
  await kubectl('delete', 'rc/old');
  await eventually('all pods are gone', SETTLED_MS, async () => (await cluster.pods(name)).length === 0);
});
