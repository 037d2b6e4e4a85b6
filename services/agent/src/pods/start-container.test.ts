import { PODS } from '@gantry/objects';
import { expect, it, onTestFinished } from 'vitest';
import { hollowMounts } from '../hollow/hollow-mounts.ts';
import type { ContainerSpec } from '../runtime/containers.ts';
import { container, pod } from '../testing/pods.ts';
import { soon, startNode } from '../testing/start-node.ts';

/** Starts a node whose engine calls `before` before it creates a container. */
function startNodeWith(before: (spec: ContainerSpec) => Promise<void>) {
  return startNode({
    wrap: (hollow) => ({
      ...hollow,
      images: hollow.images,
      containers: {
        ...hollow.containers,
        createContainer: async (spec, signal) => {
          await before(spec);
          return await hollow.containers.createContainer(spec, signal);
        },
      },
    }),
  });
}

it('a container that hangs while it is created, as with a server of NFS, holds up another pod for ten seconds', async () => {
  const hung = Promise.withResolvers<void>();
  const begun: string[] = [];
  const node = await startNodeWith(async ({ name }) => {
    begun.push(name);
    // The engine checks the folder that it has to mount.
    if (name === 'far') await hung.promise;
  });
  onTestFinished(() => hung.resolve());
  const phaseOf = (name: string) => node.client.all(PODS).find(({ metadata }) => metadata.name === name)?.status?.phase;
  const start = async (name: string, spec: object) => {
    const { metadata } = await node.put(pod(spec, {}, { name }));
    const { uid = '' } = metadata;
    await soon(node, () => node.pods.get(uid)).toBeDefined();
    node.work(uid);
  };
  const volumes = [{ name: 'data', nfs: { server: 's', path: '/x' } }];
  const far = container('far', { volumeMounts: [{ name: 'data', mountPath: '/data' }] });
  await start('far', { volumes, containers: [far], initContainers: [container('first')] });
  await soon(node, () => begun).toContain('first');
  const [first] = (await node.hollow.observer.listPods({ cluster: 'c' }))[0]?.containers ?? [];
  node.hollow.exit(first?.id ?? '', 0);
  await soon(node, () => begun).toContain('far');
  await start('near', {});
  await node.clock.advance(10_000);
  await soon(node, () => phaseOf('near')).toBe('Running');
  expect(phaseOf('far')).toBe('Pending');
  hung.resolve();
  await soon(node, () => phaseOf('far')).toBe('Running');
});

it('the OOM score of a container is that of its share of the node, whatever the host has', async () => {
  const scores: number[] = [];
  const node = await startNodeWith(async ({ oomScoreAdj }) => void scores.push(oomScoreAdj));
  const half = container('main', { resources: { requests: { memory: '1Gi' } } });
  await node.put(pod({ containers: [half] }, { qosClass: 'Burstable' }));
  await soon(node, () => node.pods.get('uid-1')).toBeDefined();
  node.work('uid-1');
  await soon(node, () => scores).toEqual([500]);
});

it('a pod runs before the paths of its mounts are taken away, and is not removed until they are', async () => {
  const mounts = hollowMounts();
  const hung = Promise.withResolvers<void>();
  let isBound = false;
  let detached = 0;
  const node = await startNode({
    mounts: {
      ...mounts,
      bind: async (sources, folder) => {
        isBound = true;
        return await mounts.bind(sources, folder);
      },
      detach: async (folder) => {
        if (isBound) {
          detached += 1;
          await hung.promise;
        }
        await mounts.detach(folder);
      },
    },
  });
  onTestFinished(() => hung.resolve());
  const part = { name: 'work', mountPath: '/m', subPath: 'part' };
  const volumes = [{ name: 'work', emptyDir: {} }];
  await node.put(pod({ volumes, containers: [container('main', { volumeMounts: [part] })] }));
  await soon(node, () => node.pods.get('uid-1')).toBeDefined();
  node.work('uid-1');
  await soon(node, () => node.client.all(PODS)[0]?.status?.phase).toBe('Running');
  await node.client.delete(PODS, { namespace: 'default', name: 'web' }, {}, node.stop.signal);
  await soon(node, async () => await node.hollow.observer.listPods({ cluster: 'c' })).toEqual([]);
  await node.clock.advance(1_000);
  expect(detached).toBe(1);
  hung.resolve();
  await soon(node, () => detached).toBe(2);
});

it('a pod has at most four definitions of containers at once, however many containers it has', async () => {
  const hung = Promise.withResolvers<void>();
  const begun: string[] = [];
  const node = await startNodeWith(async ({ name }) => {
    begun.push(name);
    await hung.promise;
  });
  onTestFinished(() => hung.resolve());
  const containers = Array.from({ length: 20 }, (_, i) => container(`c${i}`));
  await node.put(pod({ containers }));
  await soon(node, () => node.pods.get('uid-1')).toBeDefined();
  node.work('uid-1');
  await soon(node, () => begun).toHaveLength(4);
  await node.clock.advance(1_000);
  expect(begun).toHaveLength(4);
  hung.resolve();
  await soon(node, () => begun).toHaveLength(20);
});
