import type { Node, Pod } from '@gantry/api';
import { ManualClock } from '@gantry/base/testing';
import type { ObjectWrite } from '@gantry/client';
import { FakeObjectClient } from '@gantry/client/testing';
import { expect, it } from 'vitest';
import { runOvertaken } from '../../testing/run-overtaken.ts';
import { NODES, PODS } from '../resources.ts';
import { taintEvictionController } from './controller.ts';

const KEY = { namespace: 'a', name: 'p' };

it('keeps what others say of a pod that it evicts', async () => {
  const clock = new ManualClock();
  const client = new FakeObjectClient(clock);
  const stop = new AbortController();
  const taints = [{ key: 'maintenance', effect: 'NoExecute' }];
  await client.put<Node>(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, spec: { taints } });
  await client.put<Pod>(PODS, {
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
    const current = await client.get<Pod>(PODS, KEY, stop.signal);
    const object = { ...current, status: { phase: 'Running', conditions: [unready] } } as Pod;
    await client.write({ verb: 'update', resource: PODS, key: KEY, object, subresource: 'status' }, stop.signal);
  };
  runOvertaken({ controllers: [taintEvictionController], client, clock, meanwhile }, stop.signal);
  await clock.advance(100);
  const pod = client.all<Pod>(PODS)[0];
  expect(pod?.status?.conditions).toContainEqual(expect.objectContaining(unready));
  expect(pod?.status?.conditions?.map(({ type }) => type).sort()).toEqual(['DisruptionTarget', 'Ready']);
  expect(pod?.metadata.deletionTimestamp).toBeDefined();
  stop.abort();
});
