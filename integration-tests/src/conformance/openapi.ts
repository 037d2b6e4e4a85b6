import { ApiextensionsV1Api, type V1CustomResourceDefinition, type V1JSONSchemaProps } from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { definition, establish, version } from './crd-fixtures.ts';
import { KINDS } from './kinds.ts';
import { expectNewer } from './outcome.ts';
import { Resource } from './resource.ts';
import { type ClusterUnderTest, type Proof, proof, type World } from './world.ts';

const PUBLISHED_MS = 120_000;
const PUBLISH = '[sig-api-machinery] CustomResourcePublishOpenAPI [Privileged:ClusterAdmin]';

type Schema = Readonly<Record<string, unknown>>;

const text = (description: string) => ({ type: 'string', description });

export const FOO: V1JSONSchemaProps = {
  type: 'object',
  description: 'Foo CRD for Testing',
  properties: {
    spec: {
      type: 'object',
      description: 'Specification of Foo',
      properties: {
        bars: {
          type: 'array',
          description: 'List of Bars and their specs.',
          items: {
            type: 'object',
            required: ['name'],
            properties: {
              name: text('Name of Bar.'),
              age: text('Age of Bar.'),
              feeling: { ...text('Whether Bar is feeling great.'), enum: ['Great', 'Down'] },
              bazs: { type: 'array', description: 'List of Bazs.', items: { type: 'string' } },
            },
          },
        },
      },
    },
    status: {
      type: 'object',
      description: 'Status of Foo',
      properties: {
        bars: {
          type: 'array',
          description: 'List of Bars and their statuses.',
          items: {
            type: 'object',
            properties: {
              name: text('Name of Bar.'),
              available: { type: 'boolean', description: 'Whether the Bar is installed.' },
              quxType: { ...text('Indicates to external qux type.'), pattern: 'in-tree|out-of-tree' },
            },
          },
        },
      },
    },
  },
};

const WALDO_FIELDS = {
  spec: {
    type: 'object',
    description: 'Specification of Waldo',
    properties: { dummy: { type: 'object', description: 'Dummy property.' } },
  },
  status: {
    type: 'object',
    description: 'Status of Waldo',
    properties: {
      bars: { type: 'array', description: 'List of Bars and their statuses.', items: { type: 'object' } },
    },
  },
} satisfies Record<string, V1JSONSchemaProps>;

export const WALDO: V1JSONSchemaProps = {
  type: 'object',
  description: 'Waldo CRD for Testing',
  properties: WALDO_FIELDS,
};

export const PRESERVING_ROOT: V1JSONSchemaProps = {
  ...WALDO,
  description: 'preserve-unknown-properties at root for Testing',
  x_kubernetes_preserve_unknown_fields: true,
};

export const PRESERVING_NESTED: V1JSONSchemaProps = {
  ...WALDO,
  description: 'preserve-unknown-properties in nested field for Testing',
  properties: { ...WALDO_FIELDS, spec: { ...WALDO_FIELDS.spec, x_kubernetes_preserve_unknown_fields: true } },
};

/** The name in OpenAPI: the group turned round, the version, the kind. */
export function definitionName({ spec }: V1CustomResourceDefinition, inVersion: string): string {
  return [...spec.group.split('.').reverse(), inVersion, spec.names.kind].join('.');
}

/** The definition in /openapi/v2 without what the server adds to that of a custom resource. */
async function published(cluster: ClusterUnderTest, name: string): Promise<Schema | undefined> {
  const found = (await cluster.openApi.read()).definitions[name];
  if (found === undefined) return undefined;
  const { 'x-kubernetes-group-version-kind': _gvk, 'x-kubernetes-selectable-fields': _fields, ...rest } = found;
  const { properties, ...schema } = rest;
  const { metadata: _metadata, apiVersion: _version, kind: _kind, ...own } = (properties ?? {}) as Schema;
  return Object.keys(own).length === 0 ? schema : { ...schema, properties: own };
}

/** As OpenAPI v2 has it: with the names of the wire. */
function wire(schema: V1JSONSchemaProps): Schema {
  const renamed = JSON.stringify(schema).replaceAll(
    '"x_kubernetes_preserve_unknown_fields"',
    '"x-kubernetes-preserve-unknown-fields"',
  );
  return JSON.parse(renamed) as Schema;
}

export async function expectPublished(
  world: World,
  name: string,
  schema: V1JSONSchemaProps | undefined,
): Promise<void> {
  await eventually(`${name} is published`, PUBLISHED_MS, async () => {
    const found = await published(world.cluster, name);
    if (found === undefined) return false;
    if (schema !== undefined) expect(found).toEqual(wire(schema));
    return true;
  });
}

export async function expectUnpublished(world: World, name: string): Promise<void> {
  await eventually(`${name} is published no longer`, PUBLISHED_MS, async () => {
    return (await published(world.cluster, name)) === undefined;
  });
}

/** A namespaced definition with one schema in all its versions, of which the first is stored. */
export async function publish(
  world: World,
  schema: V1JSONSchemaProps,
  expected: V1JSONSchemaProps | undefined,
  versions: readonly string[],
  group = `${world.unique('publish')}.example.com`,
): Promise<V1CustomResourceDefinition> {
  const all = versions.map((name, index) => version(name, schema, { storage: index === 0 }));
  const created = await establish(world, definition(world, { scope: 'Namespaced', group, versions: all }));
  for (const name of versions) await expectPublished(world, definitionName(created, name), expected);
  return created;
}

/** Deletes the definition; all its versions leave the document. */
export async function withdraw(world: World, created: V1CustomResourceDefinition): Promise<void> {
  await world.api(ApiextensionsV1Api).deleteCustomResourceDefinition({ name: created.metadata?.name ?? '' });
  for (const { name } of created.spec.versions) await expectUnpublished(world, definitionName(created, name));
}

/** Two definitions, both published at once. */
function sideBySide(codename: string, versions: readonly [string, string], groups: 'common' | 'different'): Proof {
  return proof(codename, async (world) => {
    const group = groups === 'common' ? `${world.unique('common')}.example.com` : undefined;
    const foo = await publish(world, FOO, FOO, [versions[0]], group);
    const waldo = await publish(world, WALDO, WALDO, [versions[1]], group);
    await expectPublished(world, definitionName(foo, versions[0]), FOO);
    await withdraw(world, foo);
    await expectPublished(world, definitionName(waldo, versions[1]), WALDO);
    await withdraw(world, waldo);
  });
}

const SEVERAL_VERSIONS = sideBySide(
  `${PUBLISH} works for multiple CRDs of same group but different versions [Conformance]`,
  ['v4', 'v5'],
  'common',
);

export const OPENAPI: readonly Proof[] = [
  sideBySide(`${PUBLISH} works for multiple CRDs of different groups [Conformance]`, ['v1', 'v1beta1'], 'different'),
  sideBySide(
    `${PUBLISH} works for multiple CRDs of same group and version but different kinds [Conformance]`,
    ['v6', 'v6'],
    'common',
  ),
  proof(SEVERAL_VERSIONS.codename, async (world) => {
    await withdraw(world, await publish(world, FOO, FOO, ['v2', 'v3']));
    await SEVERAL_VERSIONS.prove(world);
  }),

  proof(`${PUBLISH} updates the published spec when one version gets renamed [Conformance]`, async (world) => {
    const created = await publish(world, FOO, FOO, ['v2', 'v3']);
    const definitions = new Resource<V1CustomResourceDefinition>(world.cluster, KINDS.CustomResourceDefinition);
    const renamed = await definitions.patch(created.metadata?.name ?? '', 'json', [
      { op: 'test', path: '/spec/versions/1/name', value: 'v3' },
      { op: 'replace', path: '/spec/versions/1/name', value: 'v4' },
    ]);
    await expectPublished(world, definitionName(created, 'v4'), FOO);
    await expectUnpublished(world, definitionName(created, 'v3'));
    await expectPublished(world, definitionName(created, 'v2'), FOO);
    await withdraw(world, renamed);
  }),

  proof(
    `${PUBLISH} removes definition from spec when one version gets changed to not be served [Conformance]`,
    async (world) => {
      const created = await publish(world, FOO, FOO, ['v5', 'v6alpha1']);
      const definitions = new Resource<V1CustomResourceDefinition>(world.cluster, KINDS.CustomResourceDefinition);
      const found = await definitions.get(created.metadata?.name ?? '');
      for (const one of found.spec.versions) if (one.name === 'v6alpha1') one.served = false;
      expectNewer(await definitions.replace(found), found);
      await expectUnpublished(world, definitionName(created, 'v6alpha1'));
      await expectPublished(world, definitionName(created, 'v5'), FOO);
      await withdraw(world, created);
    },
  ),
];
