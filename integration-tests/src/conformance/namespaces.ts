import type { V1Namespace } from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { KINDS } from './kinds.ts';
import { expectNewer, expectNotFound, retryOnConflict } from './outcome.ts';
import { Resource } from './resource.ts';
import { type Proof, proof, type World } from './world.ts';

const GONE_MS = 120_000;
const NAMESPACES = '[sig-api-machinery] Namespaces [Serial] should';

const namespacesOf = (world: World) => new Resource<V1Namespace>(world.cluster, KINDS.Namespace);

export const NAMESPACE_PROOFS: readonly Proof[] = [
  proof(`${NAMESPACES} patch a Namespace [Conformance]`, async (world) => {
    const namespaces = namespacesOf(world);
    const name = await world.namespace();
    const before = await namespaces.get(name);
    const patched = await namespaces.patch(name, 'strategic', { metadata: { labels: { testLabel: 'testValue' } } });
    expectNewer(patched, before);
    expect((await namespaces.get(name)).metadata?.labels).toMatchObject({ testLabel: 'testValue' });
  }),

  proof(`${NAMESPACES} apply changes to a namespace status [Conformance]`, async (world) => {
    const namespaces = namespacesOf(world);
    const name = await world.namespace();
    expect((await namespaces.get(name, 'status')).status?.phase).toBe('Active');
    const condition = (type: string, message: string) => ({ type, status: 'True', reason: 'Conformance', message });
    const patch = {
      metadata: { annotations: { 'patched-status': name } },
      status: { conditions: [condition('StatusPatch', 'Patched by a test')] },
    };
    const patched = await namespaces.patch(name, 'merge', patch, 'status');
    expect(patched.metadata?.annotations).toMatchObject({ 'patched-status': name });
    expect(patched.status?.conditions?.at(-1)).toMatchObject(condition('StatusPatch', 'Patched by a test'));
    const updated = await retryOnConflict(async () => {
      const found = await namespaces.get(name, 'status');
      const conditions = [...(found.status?.conditions ?? []), condition('StatusUpdate', 'Updated by a test')];
      return await namespaces.replace({ ...found, status: { ...found.status, conditions } }, 'status');
    });
    expect(updated.status?.conditions?.at(-1)).toMatchObject(condition('StatusUpdate', 'Updated by a test'));
  }),

  proof(`${NAMESPACES} apply an update to a Namespace [Conformance]`, async (world) => {
    const namespaces = namespacesOf(world);
    const name = await world.namespace();
    const updated = await retryOnConflict(async () => {
      const found = await namespaces.get(name);
      const labels = { ...found.metadata?.labels, [name]: 'updated' };
      return await namespaces.replace({ ...found, metadata: { ...found.metadata, labels } });
    });
    expect(updated.metadata?.labels).toMatchObject({ [name]: 'updated' });
  }),

  proof(`${NAMESPACES} apply a finalizer to a Namespace [Conformance]`, async (world) => {
    const namespaces = namespacesOf(world);
    const name = await world.namespace();
    const finalizer = 'e2e.example.com/fakeFinalizer';
    const finalize = (change: (finalizers: readonly string[]) => readonly string[]) =>
      retryOnConflict(async () => {
        const found = await namespaces.get(name);
        const finalizers = [...change(found.spec?.finalizers ?? [])];
        return await namespaces.replace({ ...found, spec: { ...found.spec, finalizers } }, 'finalize');
      });
    expect((await finalize((all) => [...all, finalizer])).spec?.finalizers).toContain(finalizer);
    const without = await finalize((all) => all.filter((one) => one !== finalizer));
    expect(without.spec?.finalizers).toEqual(['kubernetes']);
  }),

  proof(
    `${NAMESPACES} ensure that all services are removed when a namespace is deleted [Conformance]`,
    async (world) => {
      const namespaces = namespacesOf(world);
      const name = await world.namespace();
      const ports = [{ port: 80, targetPort: 80 }];
      const body = { metadata: { name: 'test-service' }, spec: { selector: { foo: 'bar' }, ports } };
      await world.core.createNamespacedService({ namespace: name, body });
      await namespaces.delete(name);
      await eventually(`namespace ${name} is gone`, GONE_MS, async () => {
        await expectNotFound(namespaces.get(name));
        return true;
      });
      await world.core.createNamespace({ body: { metadata: { name } } });
      await expectNotFound(world.core.readNamespacedService({ name: 'test-service', namespace: name }));
    },
  ),
];
