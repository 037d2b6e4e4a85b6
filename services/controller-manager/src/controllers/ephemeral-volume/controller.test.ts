import { PERSISTENT_VOLUME_CLAIMS, PODS } from '@gantry/objects';
import { expect, it } from 'vitest';
import { createMetrics } from '@gantry/service';
import { createMeters } from '../../meters.ts';
import { createControllerHarness } from '../../testing/controller-harness.ts';
import { createEphemeralVolumeController } from './controller.ts';

it('makes a claim again that was deleted under its pod', async () => {
  const { clock, client, stop, run } = createControllerHarness();
  const metrics = createMetrics();
  run([createEphemeralVolumeController(createMeters(metrics).ephemeralVolumes)]);
  await client.put(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'a', name: 'p' },
    spec: { containers: [], volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec: {} } } }] },
  });
  await clock.advance(1000);
  expect((await metrics.render()).text).toMatch(/^ephemeral_volume_controller_create_total 1$/m);
  const uids = () => client.all(PERSISTENT_VOLUME_CLAIMS).map(({ metadata }) => metadata.uid);
  const [first] = uids();
  expect(first).toBeDefined();
  await client.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: 'a', name: 'p-v' }, {}, stop.signal);
  await clock.advance(1000);
  expect(uids()).toHaveLength(1);
  expect(uids()).not.toContain(first);
});
