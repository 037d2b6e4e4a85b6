import { describe, expect, it } from 'vitest';
import { hasSchema, schemaNameOf } from '../schema/type-schema.ts';
import { findKind, findResource, resources } from './index.ts';

describe('the registry', () => {
  it('keeps the resources of a group version together, by name', () => {
    const groups = [...new Set(resources.map(({ group, version }) => `${group}/${version}`))];
    const names = resources.map(({ group, version, resource }) => `${group}/${version} ${resource}`);
    const wanted = groups.flatMap((of) => names.filter((name) => name.startsWith(`${of} `)).sort());
    expect(names).toEqual(wanted);
  });

  it.each(resources.map((definition) => [definition.resource, definition] as const))(
    'knows %s whole',
    (_, definition) => {
      expect(hasSchema(schemaNameOf(definition.schema))).toBe(true);
      expect(findResource(definition)).toBe(definition);
      expect(findKind(definition.group, definition.version, definition.kind)).toBe(definition);
      expect([...definition.verbs].sort()).toEqual(definition.verbs);
      const parts = definition.subresources.map(({ name }) => name);
      expect([...parts].sort()).toEqual(parts);
    },
  );
});
