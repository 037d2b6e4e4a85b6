import { type Pod, PODS, type Secret, SECRETS, type Volume } from '@gantry/objects';
import { expect, it } from 'vitest';
import type { HollowRuntime } from '../hollow/hollow-runtime.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { container, pod } from '../testing/pods.ts';
import { OWNER, soon, startNode, type TestNode } from '../testing/start-node.ts';

const DATA = 'quay.io/team/data:1';
const PRIVATE = 'quay.io/team/private:1';
const image = (id: string) => ({ id, sizeBytes: 7, digests: [], user: '', labels: [] });
const registry = { [DATA]: image('sha256:2'), [PRIVATE]: image('sha256:3') };
const data = (reference = DATA, pullPolicy?: string): Volume => ({
  name: 'data',
  image: { reference, ...(pullPolicy === undefined ? {} : { pullPolicy }) },
});
const volumeMounts = [{ name: 'data', mountPath: '/data' }];

/** Starts a node that notes which images are mounted and pulled. */
async function imageNode(): Promise<{ readonly node: TestNode; readonly calls: string[] }> {
  const calls: string[] = [];
  const wrap = (hollow: HollowRuntime): Runtime => ({
    sandboxes: hollow.sandboxes,
    podGroups: hollow.podGroups,
    containers: hollow.containers,
    pauses: hollow.pauses,
    observer: hollow.observer,
    logs: hollow.logs,
    stats: hollow.stats,
    streams: hollow.streams,
    engine: hollow.engine,
    imageFiles: hollow.imageFiles,
    images: {
      ...hollow.images,
      pullImage: (reference, credential, signal) => {
        calls.push(`pull ${reference}`);
        return hollow.images.pullImage(reference, credential, signal);
      },
    },
    imageVolumes: {
      mountImage: (spec, signal) => {
        calls.push(`mount ${spec.volume} ${spec.image.id}`);
        return hollow.imageVolumes.mountImage(spec, signal);
      },
    },
  });
  const behaviour = { login: (reference: string) => (reference === PRIVATE ? 'me:sesame' : undefined) };
  return { node: await startNode({ wrap, registry, behaviour }), calls };
}

async function begin(
  node: TestNode,
  spec: NonNullable<Parameters<typeof pod>[0]>,
  secrets: readonly Secret[] = [],
): Promise<void> {
  await node.put(pod(spec));
  for (const secret of secrets) await node.client.put(SECRETS, secret);
  await soon(node, () => node.pods.get('uid-1')).toBeDefined();
  node.work('uid-1');
}

const stored = ({ client }: TestNode): Pod | undefined => client.all(PODS)[0];
const waits = (node: TestNode) => stored(node)?.status?.containerStatuses?.map(({ state }) => state?.waiting?.reason);
const holds = async ({ hollow }: TestNode) => (await hollow.observer.listPods(OWNER))[0]?.imageHolds.length;

it('an image is pulled and mounted once for all containers and attempts, and let go with the pod', async () => {
  const { node, calls } = await imageNode();
  const containers = [container('a', { volumeMounts }), container('b', { volumeMounts })];
  await begin(node, { volumes: [data(DATA, 'Always')], containers });
  await soon(node, () => stored(node)?.status?.phase).toBe('Running');
  expect(calls).toEqual([`pull ${DATA}`, 'mount data sha256:2']);
  expect(node.events).toContain(`Normal Pulling Pulling image "${DATA}"`);
  const [state] = await node.hollow.observer.listPods(OWNER);
  node.hollow.exit(state?.containers[0]?.id ?? '', 1);
  const restarts = () =>
    stored(node)
      ?.status?.containerStatuses?.map(({ restartCount }) => restartCount)
      .sort();
  await soon(node, restarts).toEqual([0, 1]);
  expect(calls).toHaveLength(2);
  expect(await holds(node)).toBe(1);
  await node.client.delete(PODS, { namespace: 'default', name: 'web' }, {}, new AbortController().signal);
  await soon(node, () => node.hollow.observer.listPods(OWNER)).toEqual([]);
});

it('only containers that mount the volume wait for its image, with the reasons of their own', async () => {
  const { node, calls } = await imageNode();
  const containers = [container('a', { volumeMounts }), container('b')];
  await begin(node, { volumes: [data('quay.io/team/none:1')], containers });
  await soon(node, () => waits(node)).toEqual(['ErrImagePull', undefined]);
  expect(calls).toContain('pull quay.io/team/none:1');
});

it.each([
  ['that is never pulled and not there', data(DATA, 'Never'), 'ErrImageNeverPull'],
  ['whose reference is none', data('https://quay.io/x'), 'InvalidImageName'],
  ['that wants a credential which the pod does not have', data(PRIVATE), 'ErrImagePull'],
])('an image %s is refused as that of a container is', async (_, volume, reason) => {
  const { node, calls } = await imageNode();
  await begin(node, { volumes: [volume], containers: [container('a', { volumeMounts })] });
  await soon(node, () => waits(node)).toEqual([reason]);
  expect(calls.filter((call) => call.startsWith('mount'))).toEqual([]);
});

it('a private image is pulled with the credentials of the pod', async () => {
  const { node, calls } = await imageNode();
  const auths = { 'quay.io/team': { username: 'me', password: 'sesame' } };
  const secret: Secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'default', name: 'keys' },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': Buffer.from(JSON.stringify({ auths })).toString('base64') },
  };
  const volumes = [data(PRIVATE)];
  const containers = [container('a', { volumeMounts })];
  await begin(node, { imagePullSecrets: [{ name: 'keys' }], volumes, containers }, [secret]);
  await soon(node, () => stored(node)?.status?.phase).toBe('Running');
  expect(calls).toEqual([`pull ${PRIVATE}`, 'mount data sha256:3']);
});
