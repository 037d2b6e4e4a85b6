import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '@gantry/objects';
import { expect, it } from 'vitest';
import { createControllerHarness } from '../../testing/controller-harness.ts';
import { volumeExpansionController } from './controller.ts';

const KEY = { namespace: 'a', name: 'data' };

it('reports a growing claim once, whichever of it and its volume is seen first', async () => {
  const { client, clock, events, run, stop } = createControllerHarness();
  run([volumeExpansionController]);
  const claim = await client.put(PERSISTENT_VOLUME_CLAIMS, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: KEY,
    spec: { resources: { requests: { storage: '2Gi' } }, volumeName: 'v' },
    status: { phase: 'Bound', capacity: { storage: '1Gi' } },
  });
  await clock.advance(1000);
  expect(events('PersistentVolumeClaim')).toEqual([]);
  await client.put(PERSISTENT_VOLUMES, {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'v' },
    spec: { claimRef: { ...KEY, uid: claim.metadata.uid ?? '' } },
  });
  await clock.advance(1000);
  await client.patch(PERSISTENT_VOLUME_CLAIMS, KEY, { merge: { metadata: { labels: { a: 'b' } } } }, stop.signal);
  await clock.advance(1000);
  expect(
    events('PersistentVolumeClaim').map(({ type, reason, message, source, count }) => [
      type,
      reason,
      message,
      source?.component,
      count,
    ]),
  ).toEqual([
    ['Normal', 'ExternalExpanding', 'waiting for an external controller to expand this PVC', 'volume_expand', 1],
  ]);
});
