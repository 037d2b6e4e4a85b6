import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS, VOLUME_ATTRIBUTES_CLASSES } from '@gantry/objects';
import { expect, it } from 'vitest';
import { createControllerHarness } from '../../testing/controller-harness.ts';
import { createGarbageCollector } from '../garbage-collector/controller.ts';
import { controllerReference } from '../ownership.ts';
import { attributesProtectionController, claimProtectionController, volumeProtectionController } from './controller.ts';
import { ATTRIBUTES_PROTECTION, CLAIM_PROTECTION, VOLUME_PROTECTION } from './plan.ts';

it('releases a class when its last claim moves to another class', async () => {
  const { clock, client, stop, run } = createControllerHarness();
  await client.put(VOLUME_ATTRIBUTES_CLASSES, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttributesClass',
    metadata: { name: 'gold', finalizers: [ATTRIBUTES_PROTECTION] },
    driverName: 'example.org',
  });
  const claim = { namespace: 'a', name: 'c' };
  await client.put(PERSISTENT_VOLUME_CLAIMS, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: claim,
    spec: { volumeAttributesClassName: 'gold' },
  });
  run([attributesProtectionController]);
  await clock.advance(1000);
  await client.delete(VOLUME_ATTRIBUTES_CLASSES, { namespace: '', name: 'gold' }, {}, stop.signal);
  await clock.advance(1000);
  expect(client.all(VOLUME_ATTRIBUTES_CLASSES)).toHaveLength(1);
  const merge = { spec: { volumeAttributesClassName: 'silver' } };
  await client.patch(PERSISTENT_VOLUME_CLAIMS, claim, { merge }, stop.signal);
  await clock.advance(1000);
  expect(client.all(VOLUME_ATTRIBUTES_CLASSES)).toEqual([]);
});

it('protects a claim and a volume whose finalizers a user has replaced', async () => {
  const { clock, client, run } = createControllerHarness();
  const claim = { namespace: 'a', name: 'c' };
  await client.put(PERSISTENT_VOLUME_CLAIMS, { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: claim });
  await client.put(PERSISTENT_VOLUMES, { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'v' } });
  run([claimProtectionController, volumeProtectionController]);
  await clock.advance(1000);
  const finalizers = [client.all(PERSISTENT_VOLUME_CLAIMS), client.all(PERSISTENT_VOLUMES)]
    .flat()
    .map(({ metadata }) => metadata.finalizers);
  expect(finalizers).toEqual([[CLAIM_PROTECTION], [VOLUME_PROTECTION]]);
});

it('lets a pod that was deleted in the foreground go, with the claim that was made for it', async () => {
  const { clock, client, stop, run } = createControllerHarness();
  const [pods, claims] = [() => client.all(PODS), () => client.all(PERSISTENT_VOLUME_CLAIMS)];
  const pod = await client.put(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'a', name: 'p', finalizers: ['foregroundDeletion'] },
    spec: { containers: [], nodeName: 'n', volumes: [{ name: 'v', ephemeral: {} }] },
  });
  const metadata = {
    namespace: 'a',
    name: 'p-v',
    finalizers: [CLAIM_PROTECTION],
    ownerReferences: [controllerReference(pod)],
  };
  await client.put(PERSISTENT_VOLUME_CLAIMS, { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata });
  run([createGarbageCollector(), claimProtectionController]);
  await clock.advance(1000);
  await client.delete(PODS, { namespace: 'a', name: 'p' }, {}, stop.signal);
  await clock.advance(1000);
  expect([pods().length, claims()[0]?.metadata.deletionTimestamp !== undefined]).toEqual([1, true]);
  // Its containers are gone: the agent deletes the pod without a grace period.
  const [leaving = pod] = pods();
  const ended = { ...leaving, metadata: { ...leaving.metadata, deletionGracePeriodSeconds: 0 } };
  await client.update(PODS, ended, stop.signal);
  await clock.advance(10_000);
  expect([pods(), claims()]).toEqual([[], []]);
});
