import type { PodAffinityTerm } from '@gantry/objects';
import { expect, it } from 'vitest';
import { apart, exampleTerm, near, preferApart, preferNear } from '../testing/affinity-examples.ts';
import { examplePod } from '../testing/examples.ts';
import { podAffinityOf } from './pod-affinity.ts';

const idOf = (term: PodAffinityTerm, namespace = 'default') =>
  podAffinityOf(examplePod('p', { namespace, spec: { affinity: near(term) } }))?.required[0]?.id;

/** Terms in different namespaces and with different values in each field. */
const TERMS: readonly (readonly [PodAffinityTerm, string?])[] = [
  [exampleTerm('x')],
  [exampleTerm('y')],
  [exampleTerm('x'), 'blue'],
  [exampleTerm('x', 'host')],
  [exampleTerm('x', 'zone', { namespaces: ['red', 'blue'] })],
  [exampleTerm('x', 'zone', { namespaces: ['red'] })],
  [exampleTerm('x', 'zone', { namespaceSelector: {} })],
  [exampleTerm('x', 'zone', { namespaceSelector: { matchLabels: { team: 'red' } } })],
  [exampleTerm('x', 'zone', { namespaces: ['red'], namespaceSelector: {} })],
  [exampleTerm('x', 'zone', { labelSelector: {} })],
  [{ topologyKey: 'zone' }],
  [
    exampleTerm('x', 'zone', {
      labelSelector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['x'] }] },
    }),
  ],
];

it('gives terms the same id that mean the same, and others none', () => {
  const ids = TERMS.map(([term, namespace]) => idOf(term, namespace));
  expect(new Set(ids).size).toBe(TERMS.length);
  expect(ids[0]).toBe(idOf(exampleTerm('x', 'zone', { namespaces: ['default'] }), 'blue'));
  expect(ids[0]).toBe(
    idOf(
      exampleTerm('x', 'zone', {
        labelSelector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['x'] }] },
      }),
    ),
  );
  expect(ids[4]).toBe(idOf(exampleTerm('x', 'zone', { namespaces: ['blue', 'red'] })));
});

it('finds all terms of a pod, with the weights of those that are preferred', () => {
  const affinity = {
    podAffinity: { ...near(exampleTerm('a')).podAffinity, ...preferNear(5, exampleTerm('b')).podAffinity },
    podAntiAffinity: {
      ...apart(exampleTerm('c')).podAntiAffinity,
      ...preferApart(7, exampleTerm('d')).podAntiAffinity,
    },
  };
  const parsed = podAffinityOf(examplePod('p', { spec: { affinity } }));
  expect(parsed?.required.map(({ selector }) => selector.toString())).toEqual(['app=a']);
  expect(parsed?.forbidden.map(({ selector }) => selector.toString())).toEqual(['app=c']);
  expect(parsed?.preferred.map(({ term, weight }) => [term.selector.toString(), weight])).toEqual([
    ['app=b', 5],
    ['app=d', -7],
  ]);
});

it.each([{}, { nodeAffinity: {} }, { podAffinity: {} }, near(), preferApart(1)])('finds nothing in %j', (affinity) => {
  expect(podAffinityOf(examplePod('p', { spec: { affinity } }))).toBeUndefined();
});
