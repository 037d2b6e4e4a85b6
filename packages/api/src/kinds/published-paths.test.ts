import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { apiVersionOf } from '../resource.ts';
import { resources } from './index.ts';

const published = JSON.parse(readFileSync(new URL('../../schemas/paths.json', import.meta.url), 'utf8')) as Readonly<
  Record<string, readonly string[]>
>;

/** `v1 pods` and `v1 pods/status` to verbs. */
const served = new Map(
  resources.flatMap((definition) => {
    const name = `${apiVersionOf(definition)} ${definition.resource}`;
    const parts = definition.subresources.map((part) => [`${name}/${part.name}`, part.verbs] as const);
    return [[name, definition.verbs] as const, ...parts];
  }),
);

describe('what Kubernetes publishes', () => {
  it('is served', () => {
    expect(Object.keys(published).filter((name) => !served.has(name))).toEqual([]);
  });

  it('is served with the same verbs', () => {
    const different = [...served]
      .filter(([name]) => name in published)
      // The published form says neither that lists can be watched nor with which methods one connects.
      .filter(([name]) => published[name]?.includes('connect') !== true)
      .filter(([name, verbs]) => {
        const told = verbs.filter((verb) => verb !== 'watch');
        return [...told].sort().join() !== (published[name] ?? []).join();
      })
      .map(([name, verbs]) => `${name}: ${[...verbs].sort().join()} is published as ${(published[name] ?? []).join()}`);
    expect(different).toEqual([]);
  });

  it('is all that is served', () => {
    expect([...served.keys()].filter((name) => !(name in published))).toEqual([]);
  });
});
