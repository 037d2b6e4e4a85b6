import { describe, expect, it } from 'vitest';
import { hasSchema, schemaNameOf } from '../schema/type-schema.ts';
import { findKind, findResource, resources } from './index.ts';

const GROUPS = ['', 'apps', 'authentication.k8s.io', 'certificates.k8s.io', 'coordination.k8s.io'];

describe('the registry', () => {
  it('is in the order of discovery: groups as Kubernetes lists them, resources by name', () => {
    const names = resources.map(({ group, resource }) => `${GROUPS.indexOf(group)} ${resource}`);
    expect(names).toEqual([...names].sort());
    expect(names.some((name) => name.startsWith('-1'))).toBe(false);
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
