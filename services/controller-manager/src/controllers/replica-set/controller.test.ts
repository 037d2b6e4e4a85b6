import type { Event, Pod, ReplicaSet } from '@gantry/api';
import { ManualClock } from '@gantry/base/testing';
import type { ObjectWrite } from '@gantry/client';
import { FakeObjectClient } from '@gantry/client/testing';
import { expect, it } from 'vitest';
import { runOvertaken } from '../../testing/run-overtaken.ts';
import { controllerReference } from '../ownership.ts';
import { PODS, REPLICA_SETS } from '../resources.ts';
import { replicaSetController } from './controller.ts';

const EVENTS = { group: '', version: 'v1', resource: 'events' };

it('takes a pod whose name is another’s by now for gone, not for one that could not be deleted', async () => {
  const clock = new ManualClock();
  const client = new FakeObjectClient(clock);
  const stop = new AbortController();
  const labels = { app: 'a' };
  const set = await client.put<ReplicaSet>(REPLICA_SETS, {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: 'set', namespace: 'n' },
    spec: { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels } } },
  });
  const key = { namespace: 'n', name: 'p' };
  const pod: Pod = { apiVersion: 'v1', kind: 'Pod', metadata: key, spec: { containers: [] } };
  await client.put<Pod>(PODS, { ...pod, metadata: { ...key, labels, ownerReferences: [controllerReference(set)] } });
  let acted: 'no' | 'yes' = 'no';
  const meanwhile = async ({ verb }: ObjectWrite) => {
    if (verb !== 'delete' || acted === 'yes') return;
    acted = 'yes';
    await client.write({ verb: 'delete', resource: PODS, key }, stop.signal);
    await client.put<Pod>(PODS, pod);
  };
  runOvertaken({ controllers: [replicaSetController], client, clock, meanwhile }, stop.signal);
  await clock.advance(1000);
  expect(acted).toBe('yes');
  expect(client.all<Pod>(PODS)).toHaveLength(1);
  expect(client.all<Event>(EVENTS).filter(({ involvedObject }) => involvedObject.kind === 'ReplicaSet')).toEqual([]);
  const told = client.writes.flatMap((write) =>
    write.verb === 'update' && write.resource.resource === 'replicasets' ? [(write.object as ReplicaSet).status] : [],
  );
  expect(told.flatMap((status) => status?.conditions ?? [])).toEqual([]);
  stop.abort();
});
