import {
  type V1ConfigMap,
  type V1Lease,
  V1MicroTime,
  type V1Node,
  type V1PodTemplate,
  type V1RuntimeClass,
  type V1Secret,
} from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { KINDS } from './kinds.ts';
import { expectInvalid, expectNewer, expectNotFound, refusal, retryOnConflict } from './outcome.ts';
import { Resource } from './resource.ts';
import { container, pod } from './workloads.ts';
import { type Proof, proof, type World } from './world.ts';

const GONE_MS = 120_000;

const configMaps = async (world: World) =>
  new Resource<V1ConfigMap>(world.cluster, KINDS.ConfigMap, await world.namespace());
const secrets = async (world: World) => new Resource<V1Secret>(world.cluster, KINDS.Secret, await world.namespace());
const templates = async (world: World) =>
  new Resource<V1PodTemplate>(world.cluster, KINDS.PodTemplate, await world.namespace());

const TEMPLATE = { spec: { containers: [container()] } };

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** Content may change until it is made immutable; then neither it nor that may, but labels may. */
function immutability<T extends V1ConfigMap | V1Secret>(
  codename: string,
  open: (world: World) => Promise<Resource<T>>,
  make: (data: Record<string, string>) => T,
): Proof {
  return proof(codename, async (world) => {
    const objects = await open(world);
    const created = await objects.create(make({ 'data-1': base64('1') }));
    const changed = await objects.replace({ ...created, data: { ...created.data, 'data-2': base64('2') } });
    const frozen = await objects.replace({ ...changed, immutable: true });
    await expectInvalid(objects.replace({ ...frozen, data: { ...frozen.data, 'data-3': base64('3') } }));
    const found = await objects.get('immutable');
    expect(found.immutable).toBe(true);
    await expectInvalid(objects.replace({ ...found, immutable: false }));
    const again = await objects.get('immutable');
    await objects.replace({ ...again, metadata: { ...again.metadata, labels: { label1: 'value1' } } });
    await objects.delete('immutable');
  });
}

export const NODE_OBJECT_PROOFS: readonly Proof[] = [
  proof('[sig-node] ConfigMap should fail to create ConfigMap with empty key [Conformance]', async (world) => {
    const maps = await configMaps(world);
    await expectInvalid(maps.create({ metadata: { name: 'empty-key' }, data: { '': 'value-1' } }));
  }),

  proof('[sig-node] ConfigMap should update ConfigMap successfully [NodeConformance] [Conformance]', async (world) => {
    const maps = await configMaps(world);
    const metadata = { name: 'map' };
    await maps.create({ metadata, data: { 'data-1': 'value-1' } });
    await maps.replace({ metadata, data: { data: 'value' } });
    expect((await maps.get('map')).data).toEqual({ data: 'value' });
  }),

  proof('[sig-node] ConfigMap should run through a ConfigMap lifecycle [Conformance]', async (world) => {
    const maps = await configMaps(world);
    const label = world.unique('map');
    await maps.create({ metadata: { name: 'map', labels: { conformance: label } }, data: { valueName: 'value' } });
    const found = await maps.get('map');
    expect(found).toMatchObject({ metadata: { labels: { conformance: label } }, data: { valueName: 'value' } });
    const change = { metadata: { labels: { patched: label } }, data: { valueName: 'value1' } };
    expectNewer(await maps.patch('map', 'strategic', change), found);
    expect((await maps.listAll({ labelSelector: `patched=${label}` })).items).toMatchObject([
      { metadata: { name: 'map', labels: { conformance: label, patched: label } }, data: { valueName: 'value1' } },
    ]);
    const selection = { labelSelector: `conformance=${label}` };
    await maps.deleteCollection(selection);
    expect((await maps.list(selection)).items).toHaveLength(0);
  }),

  proof('[sig-node] Secrets should fail to create secret due to empty secret key [Conformance]', async (world) => {
    const objects = await secrets(world);
    await expectInvalid(objects.create({ metadata: { name: 'empty-key' }, data: { '': base64('value-1') } }));
  }),

  proof('[sig-node] Secrets should patch a secret [Conformance]', async (world) => {
    const objects = await secrets(world);
    const label = world.unique('secret');
    const selection = { labelSelector: `conformance=${label}` };
    const metadata = { name: 'secret', labels: { conformance: label } };
    const created = await objects.create({ metadata, data: { key: base64('value') }, type: 'Opaque' });
    expect((await objects.listAll(selection)).items).toMatchObject([{ metadata: { name: 'secret' } }]);
    const change = { metadata: { labels: { patched: 'true' } }, data: { key: base64('value1') } };
    await objects.patch('secret', 'strategic', change);
    const found = await objects.get('secret');
    expectNewer(found, created);
    expect(found.data).toEqual({ key: base64('value1') });
    await objects.deleteCollection({ labelSelector: 'patched=true' });
    expect((await objects.listAll(selection)).items).toHaveLength(0);
  }),

  immutability(
    '[sig-storage] ConfigMap should be immutable if `immutable` field is set [Conformance]',
    configMaps,
    (data) => ({ metadata: { name: 'immutable' }, data }),
  ),
  immutability(
    '[sig-storage] Secrets should be immutable if `immutable` field is set [Conformance]',
    secrets,
    (data) => ({ metadata: { name: 'immutable' }, data }),
  ),

  proof('[sig-node] Lease lease API should be available [Conformance]', async (world) => {
    const leases = new Resource<V1Lease>(world.cluster, KINDS.Lease, await world.namespace());
    const spec = (holderIdentity: string, leaseTransitions: number, seconds: number) => ({
      holderIdentity,
      leaseDurationSeconds: 30,
      acquireTime: new V1MicroTime(`2024-01-01T00:00:${seconds}.000001Z`),
      renewTime: new V1MicroTime(`2024-01-01T00:01:${seconds}.000000Z`),
      leaseTransitions,
    });
    const expectSpec = async (wanted: object): Promise<V1Lease> => {
      const found = await leases.get('lease');
      expect(JSON.parse(JSON.stringify(found.spec))).toEqual(JSON.parse(JSON.stringify(wanted)));
      return found;
    };
    const created = await leases.create({ metadata: { name: 'lease' }, spec: spec('holder', 0, 10) });
    await expectSpec(spec('holder', 0, 10));
    await leases.replace({ ...created, spec: spec('holder2', 1, 20) });
    await expectSpec(spec('holder2', 1, 20));
    await leases.patch('lease', 'strategic', JSON.parse(JSON.stringify({ spec: spec('holder3', 2, 30) })));
    expectNewer(await expectSpec(spec('holder3', 2, 30)), created);
    await leases.create({ metadata: { name: 'lease2', labels: { deletecollection: 'true' } }, spec: spec('h', 0, 10) });
    expect((await leases.list()).items).toHaveLength(2);
    await leases.deleteCollection({ labelSelector: 'deletecollection=true' });
    expect((await leases.list()).items).toHaveLength(1);
    await leases.delete('lease');
    await expectNotFound(leases.get('lease'));
    await leases.listAll();
  }),

  proof('[sig-node] Node Lifecycle should run through the lifecycle of a node [Conformance]', async (world) => {
    const nodes = new Resource<V1Node>(world.cluster, KINDS.Node);
    const name = world.unique('fake-node');
    world.atEnd(() => nodes.delete(name));
    const ready = { type: 'Ready', status: 'True', reason: 'Conformance', message: 'Set by a test' };
    const created = await nodes.create({
      metadata: { name },
      spec: { unschedulable: true },
      status: { phase: 'Running', conditions: [ready] },
    });
    expect((await nodes.get(name)).metadata?.name).toBe(name);
    const patched = await nodes.patch(name, 'strategic', { metadata: { labels: { [name]: 'patched' } } });
    expect(patched.metadata?.labels).toMatchObject({ [name]: 'patched' });
    expectNewer(patched, created);
    expect((await nodes.list({ labelSelector: `${name}=patched` })).items).toHaveLength(1);
    const updated = await retryOnConflict(async () => {
      const found = await nodes.get(name);
      const labels = { ...found.metadata?.labels, [name]: 'updated' };
      return await nodes.replace({ ...found, metadata: { ...found.metadata, labels } });
    });
    expect(updated.metadata?.labels).toMatchObject({ [name]: 'updated' });
    await nodes.delete(name);
    await eventually('the node is gone', GONE_MS, async () => {
      await expectNotFound(nodes.get(name));
      return true;
    });
  }),

  proof('[sig-node] PodTemplates should run the lifecycle of PodTemplates [Conformance]', async (world) => {
    const objects = await templates(world);
    const label = world.unique('template');
    const selection = { labelSelector: `conformance=${label}` };
    expect((await objects.listAll(selection)).items).toHaveLength(0);
    await objects.create({ metadata: { name: 'template', labels: { conformance: label } }, template: TEMPLATE });
    const found = await objects.get('template');
    const patched = await objects.patch('template', 'strategic', { metadata: { labels: { podtemplate: 'patched' } } });
    expectNewer(patched, found);
    expect((await objects.get('template')).metadata?.labels).toMatchObject({ podtemplate: 'patched' });
    await objects.delete('template');
    expect((await objects.listAll(selection)).items).toHaveLength(0);
  }),

  proof('[sig-node] PodTemplates should delete a collection of pod templates [Conformance]', async (world) => {
    const objects = await templates(world);
    const selection = { labelSelector: 'podtemplate-set=true' };
    for (const number of [1, 2, 3]) {
      const metadata = { name: `template-${number}`, labels: { 'podtemplate-set': 'true' } };
      await objects.create({ metadata, template: TEMPLATE });
    }
    expect((await objects.list(selection)).items).toHaveLength(3);
    await objects.deleteCollection(selection);
    await eventually('they are gone', GONE_MS, async () => (await objects.list(selection)).items.length === 0);
  }),

  proof('[sig-node] PodTemplates should replace a pod template [Conformance]', async (world) => {
    const objects = await templates(world);
    await objects.create({ metadata: { name: 'template' }, template: TEMPLATE });
    const updated = await retryOnConflict(async () => {
      const found = await objects.get('template');
      return await objects.replace({ ...found, metadata: { ...found.metadata, annotations: { updated: 'true' } } });
    });
    expect(updated.metadata?.annotations).toMatchObject({ updated: 'true' });
  }),

  proof(
    '[sig-node] Pods Extended Pods Set QOS Class should be set on Pods with matching resource requests and limits for memory and cpu [Conformance]',
    async (world) => {
      const namespace = await world.namespace();
      const amounts = { cpu: '100m', memory: '100Mi' };
      const resources = { requests: amounts, limits: amounts };
      const body = pod('guaranteed', { containers: [container({ resources })] });
      await world.core.createNamespacedPod({ namespace, body });
      const found = await world.core.readNamespacedPod({ namespace, name: 'guaranteed' });
      expect(found.status?.qosClass).toBe('Guaranteed');
    },
  ),

  proof(
    '[sig-node] RuntimeClass should reject a Pod requesting a non-existent RuntimeClass [NodeConformance] [Conformance]',
    async (world) => {
      const namespace = await world.namespace();
      await expectRuntimeClassRefused(world, namespace, `${namespace}-nonexistent`);
    },
  ),

  proof(
    '[sig-node] RuntimeClass should reject a Pod requesting a deleted RuntimeClass [NodeConformance] [Conformance]',
    async (world) => {
      const namespace = await world.namespace();
      const classes = new Resource<V1RuntimeClass>(world.cluster, KINDS.RuntimeClass);
      const name = world.unique('delete-me');
      await classes.create({ metadata: { name }, handler: 'runc' });
      await classes.delete(name);
      await eventually('it is gone', GONE_MS, async () => {
        await expectNotFound(classes.get(name));
        await expectRuntimeClassRefused(world, namespace, name);
        return true;
      });
    },
  ),

  proof(
    '[sig-node] Sysctls [LinuxOnly] [NodeConformance] should reject invalid sysctls [Conformance]',
    async (world) => {
      const namespace = await world.namespace();
      const names = ['foo-', 'kernel.shmmax', 'safe-and-unsafe', 'bar..'];
      const sysctls = names.map((name) => ({ name, value: '100000000' }));
      const body = pod('sysctls', { securityContext: { sysctls } });
      const message = await expectInvalid(world.core.createNamespacedPod({ namespace, body }));
      for (const bad of ['foo-', 'bar..']) expect(message).toContain(`Invalid value: "${bad}"`);
      for (const good of ['kernel.shmmax', 'safe-and-unsafe']) expect(message).not.toContain(good);
    },
  ),
];

async function expectRuntimeClassRefused(world: World, namespace: string, runtimeClassName: string): Promise<void> {
  const body = { ...pod('rejected', { runtimeClassName }), metadata: { generateName: 'rejected-' } };
  expect(await refusal(world.core.createNamespacedPod({ namespace, body }))).toMatchObject({ code: 403 });
}
