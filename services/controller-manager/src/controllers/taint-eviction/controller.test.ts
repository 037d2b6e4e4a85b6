import { NODES, type Pod, PODS } from '@gantry/objects';
import type { ObjectWrite } from '@gantry/client';
import { expect, it } from 'vitest';
import { createControllerHarness } from '../../testing/controller-harness.ts';
import { taintEvictionController } from './controller.ts';

const KEY = { namespace: 'a', name: 'p' };

it('keeps what others say of a pod that it evicts', async () => {
  const { clock, client, stop, run } = createControllerHarness();
  const taints = [{ key: 'maintenance', effect: 'NoExecute' }];
  await client.put(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, spec: { taints } });
  await client.put(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    // Held, so that what was written before its deletion can be seen.
    metadata: { ...KEY, finalizers: ['example.org/hold'] },
    spec: { containers: [], nodeName: 'n' },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  });
  const unready = { type: 'Ready', status: 'False', reason: 'ContainersNotReady' };
  const meanwhile = async (write: ObjectWrite) => {
    if (!('subresource' in write)) return;
    const current = await client.get(PODS, KEY, stop.signal);
    const object = { ...current, status: { phase: 'Running', conditions: [unready] } } as Pod;
    await client.updateStatus(PODS, object, stop.signal);
  };
  run([taintEvictionController], { meanwhile });
  await clock.advance(100);
  const pod = client.all(PODS)[0];
  expect(pod?.status?.conditions).toContainEqual(expect.objectContaining(unready));
  expect(pod?.status?.conditions?.map(({ type }) => type).sort()).toEqual(['DisruptionTarget', 'Ready']);
  expect(pod?.metadata.deletionTimestamp).toBeDefined();
});
