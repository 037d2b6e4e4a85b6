import {
  ATTRIBUTES_PROTECTION,
  CLAIM_PROTECTION,
  controllerReference,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  VOLUME_ATTRIBUTES_CLASSES,
  VOLUME_PROTECTION,
} from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { expect, it } from 'vitest';
import { garbageMeter } from '../../metrics/meters.ts';
import { createControllerHarness } from '../../testing/controller-harness.ts';
import { createGarbageCollector } from '../garbage-collector/controller.ts';
import {
  attributesProtectionController,
  createClaimProtectionController,
  volumeProtectionController,
} from './controller.ts';

const METRICS = createMetrics();

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
  run([createClaimProtectionController(), volumeProtectionController]);
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
  run([createGarbageCollector(garbageMeter(METRICS)), createClaimProtectionController()]);
  await clock.advance(1000);
  await client.delete(PODS, { namespace: 'a', name: 'p' }, {}, stop.signal);
  await clock.advance(1000);
  expect([pods().length, claims()[0]?.metadata.deletionTimestamp !== undefined]).toEqual([1, true]);
  // Its containers are gone, so the agent deletes the pod without a grace period.
  const [leaving = pod] = pods();
  const ended = { ...leaving, metadata: { ...leaving.metadata, deletionGracePeriodSeconds: 0 } };
  await client.update(PODS, ended, stop.signal);
  await clock.advance(10_000);
  expect([pods(), claims()]).toEqual([[], []]);
});

/** Claims of a namespace that have the finalizer; `listed` is called before each list of pods by the controller. */
async function protectedClaims(names: readonly string[], listed: () => Promise<void>) {
  const harness = createControllerHarness();
  const { client, clock, run, stop } = harness;
  for (const name of names) {
    const metadata = { namespace: 'a', name, finalizers: [CLAIM_PROTECTION] };
    await client.put(PERSISTENT_VOLUME_CLAIMS, { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata });
  }
  let isStarted = false;
  run([createClaimProtectionController()], {
    reach: async (_signal, { verb, resource }) => {
      if (isStarted && verb === 'list' && resource === 'pods') await listed();
    },
  });
  await clock.advance(1000);
  isStarted = true;
  const remove = async () => {
    for (const name of names) await client.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: 'a', name }, {}, stop.signal);
    await clock.advance(1000);
  };
  return { ...harness, remove, left: () => client.all(PERSISTENT_VOLUME_CLAIMS).length };
}

it('asks the store for the pods of a namespace once for claims that are deleted together', async () => {
  let lists = 0;
  const names = Array.from({ length: 50 }, (_, i) => `c${i}`);
  const { remove, left } = await protectedClaims(names, async () => {
    lists++;
  });
  await remove();
  expect(left()).toBe(0);
  expect(lists).toBeGreaterThan(0);
  expect(lists).toBeLessThan(15);
});

it('keeps a claim for a pod that the cache does not show yet, and lets it go with the pod', async () => {
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }];
  const spec = { containers: [], nodeName: 'n', volumes };
  let isBound = false;
  const { client, clock, remove, left, stop } = await protectedClaims(['c'], async () => {
    if (isBound) return;
    isBound = true;
    await client.put(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'a', name: 'late' }, spec });
  });
  await remove();
  expect(left()).toBe(1);
  await client.delete(PODS, { namespace: 'a', name: 'late' }, { gracePeriodSeconds: 0 }, stop.signal);
  await clock.advance(1000);
  expect([client.all(PODS).length, left()]).toEqual([0, 0]);
});
