import { type Pod, PODS, REPLICA_SETS, type ReplicaSet } from '@gantry/objects';
import type { ObjectWrite } from '@gantry/client';
import { expect, it } from 'vitest';
import { createControllerHarness } from '../../testing/controller-harness.ts';
import { controllerReference } from '../ownership.ts';
import { replicaSetController } from './controller.ts';

it('takes a pod whose name is another’s by now for gone, not for one that could not be deleted', async () => {
  const { clock, client, stop, events, run } = createControllerHarness();
  const labels = { app: 'a' };
  const set = await client.put(REPLICA_SETS, {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: 'set', namespace: 'n' },
    spec: { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels } } },
  });
  const key = { namespace: 'n', name: 'p' };
  const pod: Pod = { apiVersion: 'v1', kind: 'Pod', metadata: key, spec: { containers: [] } };
  await client.put(PODS, { ...pod, metadata: { ...key, labels, ownerReferences: [controllerReference(set)] } });
  let acted: 'no' | 'yes' = 'no';
  const meanwhile = async ({ verb }: ObjectWrite) => {
    if (verb !== 'delete' || acted === 'yes') return;
    acted = 'yes';
    await client.delete(PODS, key, {}, stop.signal);
    await client.put(PODS, pod);
  };
  run([replicaSetController], { meanwhile });
  await clock.advance(1000);
  expect(acted).toBe('yes');
  expect(client.all(PODS)).toHaveLength(1);
  expect(events('ReplicaSet')).toEqual([]);
  const told = client.writes.flatMap((write) =>
    write.verb === 'update' && write.resource.resource === 'replicasets' ? [(write.object as ReplicaSet).status] : [],
  );
  expect(told.flatMap((status) => status?.conditions ?? [])).toEqual([]);
});
