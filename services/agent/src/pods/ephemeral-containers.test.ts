import { PODS } from '@gantry/objects';
import { expect, it } from 'vitest';
import type { ContainerSpec } from '../runtime/containers.ts';
import { container, pod } from '../testing/pods.ts';
import { soon, startNode } from '../testing/start-node.ts';

it('an ephemeral container sees the processes of its target, and fails without one', async () => {
  const specs: ContainerSpec[] = [];
  const node = await startNode({
    wrap: (hollow) => ({
      ...hollow,
      containers: {
        ...hollow.containers,
        createContainer: (spec, signal) => {
          specs.push(spec);
          return hollow.containers.createContainer(spec, signal);
        },
      },
    }),
  });
  const object = await node.put(pod());
  await soon(node, () => node.pods.get(object.metadata.uid ?? '')).toBeDefined();
  node.work(object.metadata.uid ?? '');
  const found = () => node.client.all(PODS)[0];
  await soon(node, () => found()?.status?.phase).toBe('Running');
  const [running] = (await node.hollow.observer.listPods({ cluster: 'c' }))[0]?.containers ?? [];
  const looks = [
    { ...container('look'), targetContainerName: 'main' },
    { ...container('lost'), targetContainerName: 'none' },
  ];
  const now = found() ?? object;
  const spec = { containers: [container()], ...now.spec, ephemeralContainers: looks };
  await node.client.update(PODS, { ...now, spec }, node.stop.signal);
  const statuses = () => found()?.status?.ephemeralContainerStatuses?.map(({ state }) => state);
  await soon(node, statuses).toMatchObject([
    { running: {} },
    { waiting: { reason: 'CreateContainerConfigError', message: 'unable to find target container none' } },
  ]);
  expect(specs.map(({ name, processes }) => [name, processes])).toEqual([
    ['main', 'own'],
    ['look', { containerId: running?.id }],
  ]);
});
