import { PODS } from '@gantry/objects';
import { it } from 'vitest';
import { pod } from '../testing/pods.ts';
import { OWNER, soon, startNode } from '../testing/start-node.ts';

it('a container and a sandbox that were paused go on, and an Event says so', async () => {
  const node = await startNode();
  const object = await node.put(pod());
  await soon(node, () => node.pods.get(object.metadata.uid ?? '')).toBeDefined();
  node.work(object.metadata.uid ?? '');
  await soon(node, () => node.client.all(PODS)[0]?.status?.phase).toBe('Running');
  const look = async () => {
    const [state] = await node.hollow.observer.listPods(OWNER);
    return [...(state?.sandboxes ?? []), ...(state?.containers ?? [])];
  };
  for (const { id } of await look()) node.hollow.pause(id);
  await soon(node, async () => (await look()).map(({ state, activity }) => [state, activity])).toEqual([
    ['running', undefined],
    ['running', undefined],
  ]);
  await soon(node, () => node.events.filter((event) => event.includes('Unpaused'))).toEqual([
    'Warning Unpaused Pod sandbox was paused outside of the cluster and goes on',
    'Warning Unpaused Container main was paused outside of the cluster and goes on',
  ]);
});
