import { ChangeLoop } from '@gantry/controller-runtime';
import { expect, it, onTestFinished } from 'vitest';
import { exampleCluster, namespace, pod, PODS, service, SERVICES } from '../testing/example-cluster.ts';
import { CachedState, takeChanges, ZONE_RESOURCES } from './cached-state.ts';

it('changes of records are decisions of the loop, with their objects; others are counted', async () => {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const { client, informers, clock, settle } = await exampleCluster([namespace('shop')], stop.signal, 'unsynced');
  const zone = new CachedState(informers.cache);
  const loop = new ChangeLoop({ name: 'records', shown: ZONE_RESOURCES, clock });
  informers.subscribe((event) => takeChanges(event, zone, loop));
  void informers.run(stop.signal);
  await settle();
  await client.put(SERVICES, service('shop', 'web', { clusterIP: '10.96.1.2' }));
  const made = await client.put(PODS, pod('shop', 'web-1', '10.128.4.1'));
  await settle();
  const { decisions, reconciles, queue } = loop.state();
  expect(decisions.slice(0, 2)).toMatchObject([
    { key: { kind: 'Pod', namespace: 'shop', name: 'web-1' }, events: [{ reason: 'PodCreated' }] },
    {
      key: { kind: 'Service', namespace: 'shop', name: 'web' },
      result: 'done',
      events: [{ reason: 'ServiceCreated', message: 'shop/web: one change of records' }],
    },
  ]);
  expect([queue.depth, reconciles.failed]).toEqual([0, 0]);
  // The pod keeps its address.
  await client.update(PODS, { ...made, spec: { containers: [] } }, stop.signal);
  await settle();
  expect(loop.state().reconciles.total).toBe(reconciles.total + 1);
  expect(loop.state().decisions).toHaveLength(decisions.length);
});
