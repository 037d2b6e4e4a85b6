import type {
  KubernetesObject,
  V1CSIDriver,
  V1CSINode,
  V1LimitRange,
  V1LimitRangeItem,
  V1ResourceQuota,
  V1ResourceRequirements,
  V1StorageClass,
  V1VolumeAttachment,
  V1VolumeAttributesClass,
} from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { expectGone } from './api-operations.ts';
import { KINDS } from './kinds.ts';
import { expectAlreadyExists, expectNewer, expectNotFound, refusal, retryOnConflict } from './outcome.ts';
import { Resource, type ResourceKind } from './resource.ts';
import { container, pod } from './workloads.ts';
import { type Proof, proof, type World } from './world.ts';

const GONE_MS = 120_000;

/** Create, get, patch, list, delete; then another one: update, list, delete as a collection. Of cluster scope. */
function lifecycle<T extends KubernetesObject>(
  codename: string,
  kind: ResourceKind,
  body: Omit<T, 'metadata'>,
  more: (resource: Resource<T>, wanted: T) => Promise<void> = async () => undefined,
): Proof {
  return proof(codename, async (world) => {
    const resource = new Resource<T>(world.cluster, kind);
    const [first, second] = [world.unique('first'), world.unique('second')];
    const wanted = (name: string) => ({ ...body, metadata: { name } }) as unknown as T;
    for (const name of [first, second]) world.atEnd(() => resource.delete(name));

    const created = await resource.create(wanted(first));
    await more(resource, wanted(first));
    expect((await resource.get(first)).metadata?.uid).toBe(created.metadata?.uid);
    const patched = await resource.patch(first, 'strategic', { metadata: { labels: { [first]: 'patched' } } });
    expect(patched.metadata?.labels).toMatchObject({ [first]: 'patched' });
    expectNewer(patched, created);
    const labelled = { labelSelector: `${first}=patched` };
    expect((await resource.list(labelled)).items).toHaveLength(1);
    await resource.delete(first);
    await eventually('the first is gone', GONE_MS, async () => (await resource.list(labelled)).items.length === 0);

    await resource.create(wanted(second));
    const updated = await retryOnConflict(async () => {
      const found = await resource.get(second);
      return await resource.replace({ ...found, metadata: { ...found.metadata, labels: { [second]: 'updated' } } });
    });
    expect(updated.metadata?.labels).toMatchObject({ [second]: 'updated' });
    const selection = { labelSelector: `${second}=updated` };
    expect((await resource.list(selection)).items).toHaveLength(1);
    await resource.deleteCollection(selection);
    await eventually('the second is gone', GONE_MS, async () => (await resource.list(selection)).items.length === 0);
  });
}

const attachment = {
  attacher: 'e2e.example.com',
  nodeName: 'some-node',
  source: { persistentVolumeName: 'some-volume' },
};

const amounts = (cpu: string, memory: string, storage: string) =>
  Object.fromEntries(
    Object.entries({ cpu, memory, 'ephemeral-storage': storage }).filter(([, amount]) => amount !== ''),
  );

const DEFAULTS = {
  limits: amounts('500m', '500Mi', '500Gi'),
  requests: amounts('100m', '200Mi', '200Gi'),
} satisfies V1ResourceRequirements;

const LIMIT: V1LimitRangeItem = {
  type: 'Container',
  min: amounts('50m', '100Mi', '100Gi'),
  max: amounts('500m', '500Mi', '500Gi'),
  _default: DEFAULTS.limits,
  defaultRequest: DEFAULTS.requests,
};

/** What a pod is created with; its containers ask for `resources`. */
function createPod(world: World, namespace: string, name: string, resources: V1ResourceRequirements) {
  const body = pod(name, { containers: [container({ resources })] });
  return world.core.createNamespacedPod({ namespace, body });
}

export const LIFECYCLES: readonly Proof[] = [
  lifecycle<V1StorageClass>(
    '[sig-storage] StorageClasses CSI Conformance should run through the lifecycle of a StorageClass [Conformance]',
    KINDS.StorageClass,
    { provisioner: 'e2e-fake-provisioner' },
  ),
  lifecycle<V1VolumeAttributesClass>(
    '[sig-storage] VolumeAttributesClass [FeatureGate:VolumeAttributesClass] should run through the lifecycle of a VolumeAttributesClass [Conformance]',
    KINDS.VolumeAttributesClass,
    { driverName: 'e2e-fake-csi-driver', parameters: { foo: 'bar' } },
  ),
  lifecycle<V1CSINode>(
    '[sig-storage] CSINodes CSI Conformance should run through the lifecycle of a csinode [Conformance]',
    KINDS.CSINode,
    { spec: { drivers: [] } },
  ),
  lifecycle<V1CSIDriver>(
    '[sig-storage] CSIInlineVolumes should run through the lifecycle of a CSIDriver [Conformance]',
    KINDS.CSIDriver,
    { spec: { volumeLifecycleModes: ['Persistent', 'Ephemeral'], fsGroupPolicy: 'ReadWriteOnceWithFSType' } },
    async (drivers, wanted) => expectAlreadyExists(drivers.create(wanted)),
  ),
  lifecycle<V1VolumeAttachment>(
    '[sig-storage] VolumeAttachment Conformance should run through the lifecycle of a VolumeAttachment [Conformance]',
    KINDS.VolumeAttachment,
    { spec: attachment },
  ),

  proof(
    '[sig-storage] VolumeAttachment Conformance should apply changes to a volumeattachment status [Conformance]',
    async (world) => {
      const attachments = new Resource<V1VolumeAttachment>(world.cluster, KINDS.VolumeAttachment);
      const name = world.unique('attachment');
      world.atEnd(() => attachments.delete(name));
      await attachments.create({ metadata: { name }, spec: attachment, status: { attached: false } });
      await attachments.patch(name, 'merge', { metadata: { labels: { [name]: 'patched' } } });
      expect((await attachments.get(name, 'status')).status?.attached).toBe(false);
      const patched = await attachments.patch(name, 'merge', { status: { attached: true } }, 'status');
      expect(patched.status?.attached).toBe(true);
      const updated = await retryOnConflict(async () =>
        attachments.replace({ ...(await attachments.get(name)), status: { attached: false } }, 'status'),
      );
      expect(updated.status?.attached).toBe(false);
      await attachments.delete(name);
      await eventually('it is gone', GONE_MS, async () => {
        await expectGone(attachments, name);
        return true;
      });
    },
  ),

  proof(
    '[sig-scheduling] LimitRange should create a LimitRange with defaults and ensure pod has those defaults applied. [Conformance]',
    async (world) => {
      const namespace = await world.namespace();
      const ranges = new Resource<V1LimitRange>(world.cluster, KINDS.LimitRange, namespace);
      using watch = await ranges.watch({ resourceVersion: (await ranges.list()).metadata?.resourceVersion ?? '' });
      const created = await ranges.create({ metadata: { name: 'limit-range' }, spec: { limits: [LIMIT] } });
      expect(await watch.next('the range')).toMatchObject({
        type: 'ADDED',
        object: { metadata: { name: 'limit-range' } },
      });
      expect((await ranges.get('limit-range')).spec?.limits).toMatchObject([
        { _default: DEFAULTS.limits, defaultRequest: DEFAULTS.requests },
      ]);
      await eventually('the range is in force', GONE_MS, async () => {
        const none = await createPod(world, namespace, world.unique('none'), {});
        expect(none.spec?.containers).toMatchObject([{ resources: DEFAULTS }]);
        return true;
      });
      const some = await createPod(world, namespace, 'some', {
        requests: amounts('', '150Mi', '150Gi'),
        limits: amounts('300m', '', ''),
      });
      const filled = { requests: amounts('300m', '150Mi', '150Gi'), limits: amounts('300m', '500Mi', '500Gi') };
      expect(some.spec?.containers).toMatchObject([{ resources: filled }]);

      const small = { requests: amounts('10m', '50Mi', '50Gi') };
      const large = { requests: amounts('600m', '600Mi', '600Gi') };
      expect((await refusal(createPod(world, namespace, 'small', small))).code).toBe(403);
      expect((await refusal(createPod(world, namespace, 'large', large))).code).toBeGreaterThanOrEqual(400);
      const lower = { ...LIMIT, min: amounts('9m', '49Mi', '49Gi') };
      await ranges.replace({ ...created, spec: { limits: [lower] } });
      expect((await ranges.get('limit-range')).spec?.limits).toMatchObject([{ min: lower.min }]);
      await eventually('a small pod is admitted', GONE_MS, () => createPod(world, namespace, 'small', small));
      expect((await refusal(createPod(world, namespace, 'large', large))).code).toBeGreaterThanOrEqual(400);
      await ranges.delete('limit-range', { gracePeriodSeconds: 30 });
      await eventually('the range is gone', GONE_MS, async () => (await ranges.list()).items.length === 0);
      await eventually('a large pod is admitted', GONE_MS, () => createPod(world, namespace, 'large', large));
    },
  ),

  proof(
    '[sig-scheduling] LimitRange should list, patch and delete a LimitRange by collection [Conformance]',
    async (world) => {
      const name = world.unique('range');
      const [one, other] = [await world.namespace(), await world.namespace()].map(
        (namespace) => new Resource<V1LimitRange>(world.cluster, KINDS.LimitRange, namespace),
      );
      if (one === undefined || other === undefined) throw new Error('two namespaces');
      const wanted = { metadata: { name, labels: { 'e2e-test': name } }, spec: { limits: [LIMIT] } };
      const created = await one.create(wanted);
      await other.create(wanted);
      const selection = { labelSelector: `e2e-test=${name}` };
      expect((await one.listAll(selection)).items).toHaveLength(2);
      const min = amounts('9m', '49Mi', '49Gi');
      const { _default: defaults, ...limit } = { ...LIMIT, min };
      const patch = {
        metadata: { labels: { [name]: 'patched' } },
        spec: { limits: [{ ...limit, default: defaults }] },
      };
      const patched = await one.patch(name, 'strategic', patch);
      expect(patched).toMatchObject({ metadata: { labels: { [name]: 'patched' } }, spec: { limits: [{ min }] } });
      expectNewer(patched, created);
      await one.deleteCollection({ labelSelector: `${name}=patched` });
      expect((await one.listAll({ labelSelector: `${name}=patched` })).items).toHaveLength(0);
      expect((await one.listAll(selection)).items).toHaveLength(1);
    },
  ),

  proof(
    '[sig-api-machinery] ResourceQuota should be able to update and delete ResourceQuota. [Conformance]',
    async (world) => {
      const quotas = new Resource<V1ResourceQuota>(world.cluster, KINDS.ResourceQuota, await world.namespace());
      const metadata = { name: 'test-quota' };
      await quotas.create({ metadata, spec: { hard: { cpu: '1', memory: '500Mi' } } });
      expect((await quotas.get('test-quota')).spec?.hard).toEqual({ cpu: '1', memory: '500Mi' });
      const more = { hard: { cpu: '2', memory: '1Gi' } };
      expect((await quotas.replace({ metadata, spec: more })).spec).toEqual(more);
      expect((await quotas.get('test-quota')).spec).toEqual(more);
      await quotas.delete('test-quota');
      await expectNotFound(quotas.get('test-quota'));
    },
  ),

  proof(
    '[sig-api-machinery] ResourceQuota should manage the lifecycle of a ResourceQuota [Conformance]',
    async (world) => {
      const quotas = new Resource<V1ResourceQuota>(world.cluster, KINDS.ResourceQuota, await world.namespace());
      const name = world.unique('quota');
      const selection = { labelSelector: `conformance=${name}` };
      const hard = { cpu: '1', memory: '500Mi' };
      await quotas.create({ metadata: { name, labels: { conformance: name } }, spec: { hard } });
      expect((await quotas.get(name)).spec?.hard).toEqual(hard);
      const { items } = await quotas.listAll(selection);
      expect(items).toHaveLength(1);
      const change = { metadata: { labels: { [name]: 'patched' } }, spec: { hard: { memory: '750Mi' } } };
      const patched = await quotas.patch(name, 'strategic', change);
      expect(patched).toMatchObject(change);
      for (const before of items) expectNewer(patched, before);
      await quotas.deleteCollection(selection);
      await expectNotFound(quotas.get(name));
    },
  ),
];
