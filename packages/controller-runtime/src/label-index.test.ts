import type { KubeObject, ObjectMeta } from '@gantry/objects';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ResourceIndex } from './resource-index.ts';

type Labels = Record<string, string>;

function pod(name: string, labels: Labels, namespace = 'n'): KubeObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, uid: name, labels } };
}

function selecting(kind: string, name: string, selector: unknown): KubeObject {
  const metadata: ObjectMeta = { name, namespace: 'n', uid: name };
  return { apiVersion: 'v1', kind, metadata, spec: { selector } } as KubeObject;
}

const names = (objects: readonly KubeObject[]) => objects.map(({ metadata }) => metadata.name).sort();
const matches = (wanted: Labels, labels: Labels = {}) =>
  Object.entries(wanted).every(([name, value]) => labels[name] === value);

describe('objects by label', () => {
  it('are those of the rarest label, in their namespace', () => {
    const index = new ResourceIndex();
    index.put(pod('one', { app: 'a', tier: 'x' }));
    index.put(pod('two', { app: 'a', tier: 'y' }));
    index.put(pod('other', { app: 'a', tier: 'x' }, 'm'));
    expect(names(index.labelled('n', { app: 'a', tier: 'x' }))).toEqual(['one']);
    expect(names(index.labelled('n', { app: 'b' }))).toEqual([]);
    expect(names(index.labelled('n', {}))).toEqual(['one', 'two']);
    index.replace([pod('three', { app: 'a', tier: 'x' })]);
    expect(names(index.labelled('n', { tier: 'x' }))).toEqual(['three']);
  });

  it('are found after any changes, as a search of all finds them', () => {
    const labels = fc.record({ app: fc.constantFrom('a', 'b'), tier: fc.constantFrom('x', 'y') }, { requiredKeys: [] });
    const change = fc.record({ name: fc.constantFrom('one', 'two', 'three'), labels, remove: fc.boolean() });
    fc.assert(
      fc.property(fc.array(change), labels, (changes, wanted) => {
        const index = new ResourceIndex();
        expect(index.labelled('n', { app: 'a' })).toEqual([]);
        for (const { name, labels: has, remove } of changes) {
          if (remove) index.remove(pod(name, {}));
          else index.put(pod(name, has));
        }
        const found = index.labelled('n', wanted).filter(({ metadata }) => matches(wanted, metadata.labels));
        const searched = index.list('n').filter(({ metadata }) => matches(wanted, metadata.labels));
        expect(names(found)).toEqual(names(searched));
      }),
      { seed: 11 },
    );
  });
});

describe('objects by selector', () => {
  it('are those that may select the labels, without looking at the others', () => {
    const index = new ResourceIndex();
    index.put(selecting('Service', 'map', { app: 'a' }));
    index.put(selecting('Service', 'else', { app: 'b' }));
    index.put(selecting('Service', 'none', undefined));
    index.put(selecting('PodDisruptionBudget', 'labels', { matchLabels: { app: 'a', tier: 'x' } }));
    index.put(selecting('PodDisruptionBudget', 'terms', { matchExpressions: [{ key: 'app', operator: 'Exists' }] }));
    index.put(selecting('PodDisruptionBudget', 'all', {}));
    expect(names(index.selecting('n', { app: 'a', tier: 'x' }))).toEqual(['all', 'labels', 'map', 'terms']);
    expect(names(index.selecting('n', {}))).toEqual(['all', 'terms']);
    expect(names(index.selecting('m', { app: 'a' }))).toEqual([]);
    index.put(selecting('Service', 'map', { app: 'c' }));
    expect(names(index.selecting('n', { app: 'a' }))).toEqual(['all', 'labels', 'terms']);
  });
});
