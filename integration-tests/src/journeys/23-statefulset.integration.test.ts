import {
  CONTROLLER_REVISIONS,
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type Pod,
  PODS,
  STATEFUL_SETS,
  type StatefulSet,
  type StatefulSetSpec,
} from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster, isReady } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { recordWatch, untilSeen } from '../harness/recorded-watch.ts';

const cluster = new Cluster();
const ROLLOUT_MS = 180_000;
/** Prints the pod's host name, then serves. */
const COMMAND = ['sh', '-c', "hostname; exec nginx -g 'daemon off;'"];

/** The StatefulSet `web`, and kubectl in its namespace. */
function statefulSet(replicas: number, spec: Partial<StatefulSetSpec> = {}): StatefulSet {
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'web' },
    spec: {
      replicas,
      serviceName: 'web',
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: [{ name: 'nginx', image: 'nginx:1.7.9', command: COMMAND }],
        },
      },
      ...spec,
    },
  };
}

const kubectlIn = (namespace: string) => async (command: string, input?: string) => {
  const options = { timeoutMs: ROLLOUT_MS, ...(input === undefined ? {} : { input }) };
  return (await cluster.mustKubectl(['-n', namespace, ...command.split(' ')], options)).trim();
};

/** `web-0 nginx:1.7.9` of each pod that stays, in order. */
const images = (pods: readonly Pod[]) =>
  pods
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata, spec }) => `${metadata.name ?? ''} ${spec?.containers[0]?.image ?? ''}`)
    .sort();
const uids = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.uid);
const named = (pods: readonly Pod[], name: string) => pods.find(({ metadata }) => metadata.name === name);

test('pods come, are updated and go in order, under the names that they keep', async () => {
  await using namespace = await cluster.namespace();
  const kubectl = kubectlIn(namespace.name);
  await using watch = await recordWatch<Pod>(cluster, PODS, namespace.name);

  await kubectl('create -f -', JSON.stringify(statefulSet(3)));
  expect(await kubectl('rollout status statefulset/web')).toMatch(/complete/);
  await eventually('web-1 has logged its name', ROLLOUT_MS, async () => (await kubectl('logs web-1')) === 'web-1');
  const first = await cluster.pods(namespace.name);
  expect(images(first)).toEqual(['web-0 nginx:1.7.9', 'web-1 nginx:1.7.9', 'web-2 nginx:1.7.9']);

  await kubectl('patch statefulset web -p {"spec":{"updateStrategy":{"rollingUpdate":{"partition":2}}}}');
  await kubectl('set image statefulset/web nginx=nginx:1.9.1');
  expect(await kubectl('rollout status statefulset/web')).toContain('partitioned roll out complete: 1 new pods');
  const canary = await cluster.pods(namespace.name);
  expect(images(canary)).toEqual(['web-0 nginx:1.7.9', 'web-1 nginx:1.7.9', 'web-2 nginx:1.9.1']);
  expect(uids(canary).filter((uid) => uids(first).includes(uid))).toHaveLength(2);

  await kubectl('patch statefulset web -p {"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}');
  expect(await kubectl('rollout status statefulset/web')).toMatch(/complete/);
  expect(images(await cluster.pods(namespace.name)).every((line) => line.endsWith('nginx:1.9.1'))).toBe(true);
  expect(await kubectl('rollout history statefulset/web')).toMatch(/^1 .*\n2 /m);

  await kubectl('rollout undo statefulset/web');
  expect(await kubectl('rollout status statefulset/web')).toMatch(/complete/);
  expect(images(await cluster.pods(namespace.name)).every((line) => line.endsWith('nginx:1.7.9'))).toBe(true);
  const revisions = await cluster.list(CONTROLLER_REVISIONS, namespace.name);
  expect(revisions.map(({ revision }) => revision).sort()).toEqual([2, 3]);

  const kept = named(await cluster.pods(namespace.name), 'web-0')?.metadata.uid;
  await kubectl('scale statefulset web --replicas=1');
  await eventually('one pod is left', ROLLOUT_MS, async () => (await cluster.pods(namespace.name)).length === 1);
  expect(uids(await cluster.pods(namespace.name))).toEqual([kept]);
  expect(await kubectl('describe statefulset web')).toContain('Delete Pod web-2 in StatefulSet web successful');
  await untilSeen(cluster, watch, PODS, namespace.name);
  expectOrdered(watch.states);

  await kubectl('delete statefulset web --wait=true');
  await eventually('nothing is left', ROLLOUT_MS, async () => {
    const left: readonly (readonly KubeObject[])[] = await Promise.all([
      cluster.pods(namespace.name),
      cluster.list(CONTROLLER_REVISIONS, namespace.name),
      cluster.list(STATEFUL_SETS, namespace.name),
    ]);
    return left.flat().length === 0;
  });
});

/** Appends the host name to a file of the volume, prints the file, then serves. */
const KEEPING = ['sh', '-c', "hostname >> /data/starts; cat /data/starts; exec nginx -g 'daemon off;'"];

test('a pod finds its data again after it was replaced and scaled away, and the claims go as the policy says', async () => {
  await using namespace = await cluster.namespace();
  const kubectl = kubectlIn(namespace.name);
  const claims = async () =>
    (await cluster.list(PERSISTENT_VOLUME_CLAIMS, namespace.name)).map(({ metadata }) => metadata.name).sort();
  const volumes = async () =>
    (await cluster.list(PERSISTENT_VOLUMES)).filter(({ spec }) => spec?.claimRef?.namespace === namespace.name);
  const untilStarts = (pod: string, count: number) =>
    eventually(`${pod} has started ${count} times on the same data`, ROLLOUT_MS, async () => {
      const { code, stdout } = await cluster.kubectl(['-n', namespace.name, 'logs', pod]);
      return code === 0 && stdout === `${pod}\n`.repeat(count);
    });
  const { spec } = statefulSet(2);
  const container = { name: 'nginx', image: 'nginx:1.7.9', command: KEEPING };
  const set = statefulSet(2, {
    podManagementPolicy: 'Parallel',
    template: {
      ...spec?.template,
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [{ ...container, volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
      },
    },
    volumeClaimTemplates: [
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Mi' } } },
      },
    ],
  });
  await kubectl('create -f -', JSON.stringify(set));
  await kubectl('rollout status statefulset/web');
  expect(await claims()).toEqual(['data-web-0', 'data-web-1']);
  for (const pod of ['web-0', 'web-1']) await untilStarts(pod, 1);

  await kubectl('delete pod web-0 --wait=true');
  await untilStarts('web-0', 2);
  await kubectl('scale statefulset web --replicas=0');
  await eventually('no pod is left', ROLLOUT_MS, async () => (await cluster.pods(namespace.name)).length === 0);
  expect(await claims()).toEqual(['data-web-0', 'data-web-1']);
  await kubectl('scale statefulset web --replicas=2');
  await untilStarts('web-0', 3);
  await untilStarts('web-1', 2);
  await kubectl('rollout status statefulset/web');

  const policy = '{"whenScaled":"Delete","whenDeleted":"Delete"}';
  await kubectl(`patch statefulset web -p {"spec":{"replicas":1,"persistentVolumeClaimRetentionPolicy":${policy}}}`);
  await eventually('the claim of web-1 goes with it', ROLLOUT_MS, async () => (await claims()).join() === 'data-web-0');
  await kubectl('delete statefulset web --wait=true');
  await eventually('nothing is left', ROLLOUT_MS, async () => {
    const left: readonly (readonly KubeObject[])[] = [
      await cluster.pods(namespace.name),
      await cluster.list(PERSISTENT_VOLUME_CLAIMS, namespace.name),
      await volumes(),
    ];
    return left.flat().length === 0;
  });
});

/** At every event, a pod is new only where those below it are ready: a gap is never followed by a pod that begins. */
function expectOrdered(states: readonly (readonly Pod[])[]): void {
  const seen = new Set<string | undefined>();
  for (const pods of states) {
    for (const { metadata } of pods.filter((pod) => !seen.has(pod.metadata.uid))) {
      seen.add(metadata.uid);
      const ordinal = Number(metadata.name?.split('-')[1]);
      const below = Array.from({ length: ordinal }, (_, i) => named(pods, `web-${i}`));
      expect(below.map((pod) => pod !== undefined && isReady(pod))).toEqual(below.map(() => true));
    }
  }
}
