import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ResourceDefinition } from '@gantry/apimachinery';
import { apiVersionOf } from '@gantry/objects';
import { resources } from './registry.ts';
import { widgets } from './testing/example-kind.ts';

const published = JSON.parse(
  readFileSync(new URL('../../apimachinery/schemas/paths.json', import.meta.url), 'utf8'),
) as Readonly<Record<string, readonly string[]>>;

/** Our own kinds have a schema that Kubernetes does not publish. */
const isOurs = ({ publishedSchema }: ResourceDefinition): boolean => publishedSchema !== undefined;
const definitions = [...resources, widgets];
const served = verbsByPath(definitions.filter((definition) => !isOurs(definition)));
const ours = verbsByPath(definitions.filter(isOurs));

/** Maps `v1 pods` and `v1 pods/status` to their verbs. */
function verbsByPath(of: readonly ResourceDefinition[]): ReadonlyMap<string, readonly string[]> {
  return new Map(
    of.flatMap((definition) => {
      const name = `${apiVersionOf(definition)} ${definition.resource}`;
      const parts = definition.subresources.map((part) => [`${name}/${part.name}`, part.verbs] as const);
      return [[name, definition.verbs] as const, ...parts];
    }),
  );
}

describe('what Kubernetes publishes', () => {
  it('is served', () => {
    expect(Object.keys(published).filter((name) => !served.has(name))).toEqual([]);
  });

  it('is served with the same verbs', () => {
    const different = [...served]
      .filter(([name]) => name in published)
      // The published paths contain neither the watch verb of lists nor the methods of connect.
      .filter(([name]) => published[name]?.includes('connect') !== true)
      .filter(([name, verbs]) => {
        const told = verbs.filter((verb) => verb !== 'watch');
        return [...told].sort().join() !== (published[name] ?? []).join();
      })
      .map(([name, verbs]) => `${name}: ${[...verbs].sort().join()} is published as ${(published[name] ?? []).join()}`);
    expect(different).toEqual([]);
  });

  it('is all that is served, but for kinds of our own', () => {
    expect([...served.keys()].filter((name) => !(name in published))).toEqual([]);
  });

  it('has none of our own kinds', () => {
    expect([...ours.keys()]).toContain('example.dev/v1 widgets/status');
    expect([...ours.keys()].filter((name) => name in published)).toEqual([]);
  });
});
