import { describe, expect, it } from 'vitest';
import {
  errorsOf,
  hasSchema,
  type JsonSchema,
  type ResourceDefinition,
  schemaNameOf,
  schemaOf,
} from '@gantry/apimachinery';
import { validateDefinitionSpec } from '@gantry/custom-resources';
import { formatFieldError } from '@gantry/objects';
import { findKind, findResource, resources } from './registry.ts';
import { widgets } from './testing/example-kind.ts';

/** The built-in resources, and one of a group of our own. */
const definitions = [...resources, widgets];

describe('the registry', () => {
  it.each(resources.map((definition) => [definition.resource, definition] as const))('finds %s', (_, definition) => {
    expect(findResource(definition)).toBe(definition);
    expect(findKind(definition.group, definition.version, definition.kind)).toBe(definition);
  });
});

describe('definitions', () => {
  it('are together by group version, in it by name', () => {
    const groups = [...new Set(definitions.map(({ group, version }) => `${group}/${version}`))];
    const names = definitions.map(({ group, version, resource }) => `${group}/${version} ${resource}`);
    const wanted = groups.flatMap((of) => names.filter((name) => name.startsWith(`${of} `)).sort());
    expect(names).toEqual(wanted);
  });

  it.each(definitions.map((definition) => [definition.resource, definition] as const))(
    'have the verbs and parts of %s in order',
    (_, definition) => {
      expect([...definition.verbs].sort()).toEqual(definition.verbs);
      const parts = definition.subresources.map(({ name }) => name);
      expect([...parts].sort()).toEqual(parts);
    },
  );

  it.each(definitions.map((definition) => [definition.resource, definition] as const))(
    'have either the schema that Kubernetes publishes for %s or one of their own',
    (_, { schema, publishedSchema }) => {
      expect(hasSchema(schemaNameOf(schema))).toBe(publishedSchema === undefined);
      expect(schemaOf(schema).custom === undefined).toBe(publishedSchema === undefined);
      expect(schemaOf(schema).fields.has('metadata')).toBe(true);
    },
  );
});

/** Errors in the schema of one of our own kinds: as the schema of a custom resource, and missing required fields. */
function faultsOf({ group, version, kind, resource, singular }: ResourceDefinition, schema: JsonSchema): string[] {
  const openAPIV3Schema: object = schema;
  const errors = validateDefinitionSpec(
    {
      group,
      scope: 'Namespaced',
      names: { kind, plural: resource, singular, listKind: `${kind}List` },
      conversion: { strategy: 'None' },
      versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema } }],
    },
    undefined,
  );
  const texts = errorsOf(errors).map((error) => `${error.field}: ${formatFieldError(error)}`);
  return [...texts, ...undeclared(schema, '')].map((text) => `${kind}: ${text}`);
}

function undeclared(schema: JsonSchema, path: string): string[] {
  const properties = schema.properties ?? {};
  const missing = (schema.required ?? []).filter((name) => schema.properties !== undefined && !(name in properties));
  return [
    ...missing.map((name) => `${path}.${name}: required, and no property`),
    ...Object.entries(properties).flatMap(([name, of]) => undeclared(of, `${path}.${name}`)),
  ];
}

describe('the schema of a kind of our own', () => {
  it.each(definitions.flatMap((of) => (of.publishedSchema === undefined ? [] : [[of, of.publishedSchema] as const])))(
    'is valid: $kind',
    (definition, schema) => {
      expect(faultsOf(definition, schema)).toEqual([]);
    },
  );

  it('is refused with a default that it refuses, and with a required field that it does not have', () => {
    const spec = (of: JsonSchema): JsonSchema => ({ type: 'object', properties: { spec: { type: 'object', ...of } } });
    const size = { type: 'integer', default: 500, maximum: 100 } as const;
    expect(faultsOf(widgets, spec({ properties: { size } }))).toEqual([
      expect.stringContaining('properties[size].default'),
    ]);
    const colour = { type: 'string' } as const;
    expect(faultsOf(widgets, spec({ required: ['color'], properties: { colour } }))).toEqual([
      'Widget: .spec.color: required, and no property',
    ]);
  });
});
