import { describe, expect, it } from 'vitest';
import { hasSchema, schemaNameOf, schemaOf } from '@gantry/apimachinery';
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
