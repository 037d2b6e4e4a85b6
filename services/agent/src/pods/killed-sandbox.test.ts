import { PODS } from '@gantry/objects';
import { it } from 'vitest';
import { pod } from '../testing/pods.ts';
import { OWNER, soon, startNode } from '../testing/start-node.ts';

it('a container that ends with code 0 since its sandbox was killed is started again, where a failure is', async () => {
  const node = await startNode();
  const object = await node.put(pod({ restartPolicy: 'OnFailure' }));
  await soon(node, () => node.pods.get(object.metadata.uid ?? '')).toBeDefined();
  node.work(object.metadata.uid ?? '');
  const status = () => node.client.all(PODS)[0]?.status;
  await soon(node, () => status()?.phase).toBe('Running');
  const [before] = await node.hollow.observer.listPods(OWNER);
  for (const { id } of before?.containers ?? []) node.hollow.exit(id, 0);
  for (const { id } of before?.sandboxes ?? []) await node.hollow.sandboxes.stopSandbox(id);
  await soon(node, () => status()?.containerStatuses?.[0]).toMatchObject({
    restartCount: 1,
    state: { running: {} },
    lastState: { terminated: { exitCode: 137, reason: 'Error' } },
  });
});
