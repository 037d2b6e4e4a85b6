import {
  AppsV1Api,
  type V1OwnerReference,
  type V1PersistentVolume,
  type V1PersistentVolumeClaim,
  type V1Pod,
} from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { expectGone } from './api-operations.ts';
import { KINDS } from './kinds.ts';
import { expectAlreadyExists, expectNewer, expectNotFound, retryOnConflict } from './outcome.ts';
import { Resource } from './resource.ts';
import { container, deployment, pod } from './workloads.ts';
import { type Proof, proof, type World } from './world.ts';

const DONE_MS = 180_000;
const GARBAGE = '[sig-api-machinery] Garbage collector should';
const VOLUMES = '[sig-storage] PersistentVolumes CSI Conformance should';

/** A Deployment whose ReplicaSet is there. */
async function deployed(world: World): Promise<{ namespace: string; name: string }> {
  const namespace = await world.namespace();
  const name = 'simpletest';
  const apps = world.api(AppsV1Api);
  await apps.createNamespacedDeployment({ namespace, body: deployment(name, 2) });
  await eventually('the ReplicaSet is there', DONE_MS, async () => {
    return (await apps.listNamespacedReplicaSet({ namespace })).items.length === 1;
  });
  return { namespace, name };
}

interface Volumes {
  readonly volumes: Resource<V1PersistentVolume>;
  readonly claims: Resource<V1PersistentVolumeClaim>;
  /** Creates one of each, of a class without provisioner. */
  readonly create: (name: string) => Promise<{ volume: V1PersistentVolume; claim: V1PersistentVolumeClaim }>;
}

async function volumesOf(world: World): Promise<Volumes> {
  const namespace = await world.namespace();
  const volumes = new Resource<V1PersistentVolume>(world.cluster, KINDS.PersistentVolume);
  const claims = new Resource<V1PersistentVolumeClaim>(world.cluster, KINDS.PersistentVolumeClaim, namespace);
  const shape = { accessModes: ['ReadWriteOnce'], storageClassName: namespace };
  const create = async (name: string) => {
    world.atEnd(() => volumes.delete(`${namespace}-${name}`));
    const volume = await volumes.create({
      metadata: { name: `${namespace}-${name}`, labels: { volume: namespace } },
      spec: { ...shape, capacity: { storage: '1Gi' }, csi: { driver: 'e2e.example.com', volumeHandle: 'conformance' } },
    });
    const resources = { requests: { storage: '1Gi' } };
    const claim = await claims.create({ metadata: { name }, spec: { ...shape, resources } });
    return { volume, claim };
  };
  return { volumes, claims, create };
}

const nameOf = (object: { metadata?: { name?: string } }) => object.metadata?.name ?? '';

export const CONTROLLER_PROOFS: readonly Proof[] = [
  proof(`${GARBAGE} delete RS created by deployment when not orphaning [Conformance]`, async (world) => {
    const { namespace, name } = await deployed(world);
    const apps = world.api(AppsV1Api);
    await apps.deleteNamespacedDeployment({ namespace, name, propagationPolicy: 'Background' });
    await eventually('the ReplicaSet and its pods are gone', DONE_MS, async () => {
      const sets = await apps.listNamespacedReplicaSet({ namespace });
      const pods = await world.core.listNamespacedPod({ namespace });
      const leaving = pods.items.filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
      return sets.items.length === 0 && leaving.length === 0;
    });
  }),

  proof(
    `${GARBAGE} orphan RS created by deployment when deleteOptions.PropagationPolicy is Orphan [Conformance]`,
    async (world) => {
      const { namespace, name } = await deployed(world);
      const apps = world.api(AppsV1Api);
      await apps.deleteNamespacedDeployment({ namespace, name, propagationPolicy: 'Orphan' });
      await eventually('the Deployment is gone', DONE_MS, async () => {
        await expectNotFound(apps.readNamespacedDeployment({ namespace, name }));
        return true;
      });
      // What tells that the collector has seen it: the owner is taken out, and the set stays.
      const { items } = await apps.listNamespacedReplicaSet({ namespace });
      expect(items).toHaveLength(1);
      for (const { metadata } of items) expect(metadata?.ownerReferences ?? []).toEqual([]);
    },
  ),

  proof(`${GARBAGE} not be blocked by dependency circle [Conformance]`, async (world) => {
    const pods = new Resource<V1Pod>(world.cluster, KINDS.Pod, await world.namespace());
    const made = await Promise.all(['pod1', 'pod2', 'pod3'].map((name) => pods.create(pod(name))));
    const owned = async (index: number, by: number) => {
      const owner = made[by];
      const ownerReferences: V1OwnerReference[] = [
        {
          apiVersion: 'v1',
          kind: 'Pod',
          name: nameOf(owner ?? {}),
          uid: owner?.metadata?.uid ?? '',
          controller: true,
          blockOwnerDeletion: true,
        },
      ];
      await pods.patch(nameOf(made[index] ?? {}), 'strategic', { metadata: { ownerReferences } });
    };
    await owned(0, 2);
    await owned(1, 0);
    await owned(2, 1);
    await pods.delete('pod1', { propagationPolicy: 'Foreground', gracePeriodSeconds: 0 });
    await eventually('all are gone', DONE_MS, async () => (await pods.list()).items.length === 0);
  }),

  proof('[sig-storage] CSIInlineVolumes should support CSIVolumeSource in Pod API [Conformance]', async (world) => {
    const pods = new Resource<V1Pod>(world.cluster, KINDS.Pod, await world.namespace());
    const driver = 'e2e.example.com';
    const volumes = [
      { name: 'vol1', csi: { driver } },
      { name: 'vol2', csi: { driver, fsType: 'ext4', readOnly: true } },
    ];
    const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/mnt/${name}` }));
    const wanted = pod('inline', { volumes, containers: [container({ volumeMounts })] });
    const created = await pods.create(wanted);
    await expectAlreadyExists(pods.create(wanted));
    const found = await pods.get('inline');
    expect(found.metadata?.uid).toBe(created.metadata?.uid);
    expect(found.spec?.volumes?.slice(0, volumes.length)).toMatchObject(volumes);
    expect((await pods.list()).items).toHaveLength(1);
    const annotations = { patched: 'true' };
    const patched = await pods.patch('inline', 'merge', { metadata: { annotations } });
    expect(patched.metadata?.annotations).toMatchObject(annotations);
    await pods.delete('inline');
    const left = (await pods.list()).items;
    expect(left.filter(({ metadata }) => metadata?.deletionTimestamp === undefined)).toHaveLength(0);
  }),

  proof(`${VOLUMES} run through the lifecycle of a PV and a PVC [Conformance]`, async (world) => {
    const { volumes, claims, create } = await volumesOf(world);
    const { volume, claim } = await create('one');
    const patchedVolume = await volumes.patch(nameOf(volume), 'strategic', {
      metadata: { labels: { patched: 'true' } },
    });
    expectNewer(patchedVolume, volume);
    const patchedClaim = await claims.patch('one', 'strategic', { metadata: { labels: { patched: 'true' } } });
    expectNewer(patchedClaim, claim);
    expect((await volumes.get(nameOf(volume))).metadata).toMatchObject({
      uid: volume.metadata?.uid,
      labels: { patched: 'true' },
    });
    expect((await claims.get('one')).metadata?.uid).toBe(claim.metadata?.uid);
    await claims.delete('one');
    await eventually('the claim is gone', DONE_MS, async () => (await claims.list()).items.length === 0);
    await volumes.delete(nameOf(volume));
    await eventually('the volume is gone', DONE_MS, async () => {
      await expectNotFound(volumes.get(nameOf(volume)));
      return true;
    });

    const again = await create('two');
    const label = nameOf(again.volume);
    const relabel = <T extends V1PersistentVolume | V1PersistentVolumeClaim>(resource: Resource<T>, name: string) =>
      retryOnConflict(async () => {
        const found = await resource.get(name);
        return await resource.replace({ ...found, metadata: { ...found.metadata, labels: { [label]: 'updated' } } });
      });
    for (const updated of [await relabel(volumes, label), await relabel(claims, 'two')])
      expect(updated.metadata?.labels).toMatchObject({ [label]: 'updated' });
    const selection = { labelSelector: `${label}=updated` };
    expect((await claims.listAll(selection)).items).toHaveLength(1);
    await claims.deleteCollection(selection);
    await eventually('the claims are gone', DONE_MS, async () => (await claims.list(selection)).items.length === 0);
    await volumes.deleteCollection(selection);
    await eventually('the volumes are gone', DONE_MS, async () => (await volumes.list(selection)).items.length === 0);
  }),

  proof(`${VOLUMES} apply changes to a pv/pvc status [Conformance]`, async (world) => {
    const { volumes, claims, create } = await volumesOf(world);
    const name = nameOf((await create('one')).volume);
    expect(['Pending', 'Bound']).toContain((await claims.get('one', 'status')).status?.phase);
    expect(['Available', 'Bound', 'Pending']).toContain((await volumes.get(name, 'status')).status?.phase);
    const condition = (type: string) => ({ type, status: 'True', reason: 'Conformance', message: 'Set by a test' });
    const patched = await claims.patch(
      'one',
      'merge',
      { status: { conditions: [condition('StatusPatched')] } },
      'status',
    );
    expect(patched.status?.conditions).toMatchObject([condition('StatusPatched')]);
    const change = { status: { message: 'StatusPatched', reason: 'Conformance' } };
    expect(await volumes.patch(name, 'merge', change, 'status')).toMatchObject(change);
    const updatedClaim = await retryOnConflict(async () => {
      const found = await claims.get('one');
      const conditions = [...(found.status?.conditions ?? []), condition('StatusUpdated')];
      return await claims.replace({ ...found, status: { ...found.status, conditions } }, 'status');
    });
    expect(updatedClaim.status?.conditions?.map(({ type }) => type)).toContain('StatusUpdated');
    const updated = { message: 'StatusUpdated', reason: 'Conformance' };
    const updatedVolume = await retryOnConflict(async () => {
      const found = await volumes.get(name);
      return await volumes.replace({ ...found, status: { ...found.status, ...updated } }, 'status');
    });
    expect(updatedVolume.status).toMatchObject(updated);
    await claims.delete('one');
    await expectGone(claims, 'one');
  }),
];
