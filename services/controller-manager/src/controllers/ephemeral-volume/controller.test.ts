import { PERSISTENT_VOLUME_CLAIMS, PODS } from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { expect, it } from 'vitest';
import { createMeters } from '../../metrics/meters.ts';
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

it('says again and again that a claim is of another, for as long as it is there', async () => {
  const { clock, client, run, events } = createControllerHarness();
  const metadata = { namespace: 'a', name: 'p-v' };
  await client.put(PERSISTENT_VOLUME_CLAIMS, { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata });
  run([createEphemeralVolumeController(createMeters(createMetrics()).ephemeralVolumes)]);
  await client.put(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'a', name: 'p' },
    spec: { containers: [], volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec: {} } } }] },
  });
  await clock.advance(60_000);
  const seen = () => events('Pod').map(({ reason, lastTimestamp }) => [reason, lastTimestamp]);
  const [[, first] = []] = seen();
  await clock.advance(45 * 60_000);
  expect(seen()).toEqual([['FailedBinding', expect.not.stringMatching(first ?? '')]]);
});
