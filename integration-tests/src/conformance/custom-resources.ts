import {
  ApiextensionsV1Api,
  type KubernetesObject,
  PatchStrategy,
  type V1CustomResourceDefinition,
} from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { type CustomObject, CustomResources, definition, establish, version } from './crd-fixtures.ts';
import { KINDS } from './kinds.ts';
import { expectNotFound, retryOnConflict, versionOf } from './outcome.ts';
import { Resource } from './resource.ts';
import { Watching } from './watching.ts';
import { type Proof, proof, type World } from './world.ts';

const PROMPT_MS = 120_000;
const SIMPLE =
  '[sig-api-machinery] CustomResourceDefinition resources [Privileged:ClusterAdmin] Simple CustomResourceDefinition';

type Definitions = Resource<V1CustomResourceDefinition>;

/** The largest whole number stays what it is; this runtime's own numbers could not tell, so its text is looked at. */
async function expectDigitsKept({ cluster }: World, path: string): Promise<void> {
  const num1 = '"num1":9223372036854775807';
  const headers = { 'content-type': PatchStrategy.MergePatch };
  const patched = await cluster.raw(path, { method: 'PATCH', headers, body: `{"num":{${num1}}}` });
  expect(patched.text).toContain(num1);
  expect((await cluster.raw(path)).text).toContain(num1);
}

export const CUSTOM_RESOURCES: readonly Proof[] = [
  proof(`${SIMPLE} creating/deleting custom resource definition objects works [Conformance]`, async (world) => {
    const created = await establish(world, definition(world));
    const definitions: Definitions = new Resource(world.cluster, KINDS.CustomResourceDefinition);
    const name = created.metadata?.name ?? '';
    await definitions.delete(name);
    await eventually(`${name} is gone`, PROMPT_MS, async () => {
      await expectNotFound(definitions.get(name));
      return true;
    });
  }),

  proof(`${SIMPLE} listing custom resource definition objects works [Conformance]`, async (world) => {
    const label = world.unique('list');
    const api = world.api(ApiextensionsV1Api);
    const wanted = Array.from({ length: 10 }, () => definition(world, { labels: { conformance: label } }));
    const created = await Promise.all(wanted.map((one) => establish(world, one)));
    const other = await establish(world, definition(world));
    const selection = { labelSelector: `conformance=${label}` };
    const { items } = await api.listCustomResourceDefinition(selection);
    const specs = (all: readonly V1CustomResourceDefinition[]) =>
      new Map(all.map(({ metadata, spec }) => [metadata?.name, spec]));
    expect(specs(items)).toEqual(specs(created));
    await api.deleteCollectionCustomResourceDefinition(selection);
    await eventually('the labelled ones are gone', PROMPT_MS, async () => {
      return (await api.listCustomResourceDefinition(selection)).items.length === 0;
    });
    await api.readCustomResourceDefinition({ name: other.metadata?.name ?? '' });
  }),

  proof(
    `${SIMPLE} getting/updating/patching custom resource definition status sub-resource works [Conformance]`,
    async (world) => {
      const created = await establish(world, definition(world));
      const name = created.metadata?.name ?? '';
      const definitions: Definitions = new Resource(world.cluster, KINDS.CustomResourceDefinition);
      const messages = ({ status }: V1CustomResourceDefinition) =>
        (status?.conditions ?? []).map(({ message }) => message);
      const updated = await retryOnConflict(async () => {
        const found = await definitions.get(name, 'status');
        expect(found.spec).toEqual(created.spec);
        // A condition with nothing but a message: the field names are required, their values are not looked at.
        const added = { type: '', status: '', message: 'updated' };
        const conditions = [...(found.status?.conditions ?? []), added];
        return await definitions.replace({ ...found, status: { ...found.status, conditions } }, 'status');
      });
      expect(messages(updated)).toContain('updated');
      const patch = [{ op: 'add', path: '/status/conditions', value: [{ message: 'patched' }] }];
      expect(messages(await definitions.patch(name, 'json', patch, 'status'))).toContain('patched');
    },
  ),

  proof(
    '[sig-api-machinery] CustomResourceDefinition resources [Privileged:ClusterAdmin] custom resource defaulting for requests and from storage works [Conformance]',
    async (world) => {
      const schema = {
        type: 'object',
        x_kubernetes_preserve_unknown_fields: true,
        properties: { a: { type: 'string' }, b: { type: 'string' } },
      };
      const created = await establish(world, definition(world, { versions: [version('v1', schema)] }));
      const definitions: Definitions = new Resource(world.cluster, KINDS.CustomResourceDefinition);
      const objects = new CustomResources(world, created);
      const at = (field: string) => `/spec/versions/0/schema/openAPIV3Schema/properties/${field}/default`;
      const name = created.metadata?.name ?? '';

      const first = await objects.create(objects.object('first'));
      expect(first).not.toHaveProperty('a');
      await definitions.patch(name, 'json', [{ op: 'add', path: at('a'), value: 'A' }]);
      await eventually('what is stored is read with the default', PROMPT_MS, async () => {
        return (await objects.get('first'))['a'] === 'A';
      });
      // By whichever apiserver is asked.
      const second = await eventually('what is made has the default', PROMPT_MS, async () => {
        const made = await objects.create(objects.object(world.unique('second')));
        return made['a'] === 'A' ? made : undefined;
      });

      await definitions.patch(name, 'json', [
        { op: 'remove', path: at('a') },
        { op: 'add', path: at('b'), value: 'B' },
      ]);
      await eventually('what was defaulted on creation stays', PROMPT_MS, async () => {
        const found = await objects.get(second.metadata.name);
        expect(found['a']).toBe('A');
        return found['b'] === 'B';
      });
      expect(versionOf(second) > versionOf(first)).toBe(true);
    },
  ),

  proof(
    '[sig-api-machinery] CustomResourceDefinition Watch [Privileged:ClusterAdmin] CustomResourceDefinition Watch watch on custom resource definition objects [Conformance]',
    async (world) => {
      const objects = new CustomResources(world, await establish(world, definition(world)));
      const named = (name: string) =>
        Watching.open<CustomObject & KubernetesObject>(world.cluster.config, objects.path, {
          fieldSelector: `metadata.name=${name}`,
        });
      using one = await named('one');
      using two = await named('two');
      const watches = { one, two };
      // Each watch sees its own object's events and, in between, none of the other's: events come in order.
      const expectOn = async (name: 'one' | 'two', type: string) => {
        const event = await watches[name].next(`${type} of ${name}`);
        expect(event).toMatchObject({ type, object: { metadata: { name } } });
        return event.object;
      };
      for (const name of ['one', 'two'] as const) {
        const body = objects.object(name, { content: { key: 'value' }, num: { num2: 1_000_000 } });
        const made = await objects.create(body);
        expect(await expectOn(name, 'ADDED')).toEqual(made);
      }
      for (const name of ['one', 'two'] as const) {
        await objects.patch(name, [{ op: 'add', path: '/dummy', value: 'test' }]);
        expect(await expectOn(name, 'MODIFIED')).toMatchObject({ dummy: 'test' });
      }
      await expectDigitsKept(world, `${objects.path}/two`);
      await expectOn('two', 'MODIFIED');
      for (const name of ['one', 'two'] as const) {
        await objects.delete(name);
        await expectOn(name, 'DELETED');
      }
    },
  ),
];
