import { expect, it } from 'vitest';
import type { PodDisruptionBudget } from '@gantry/objects';
import { validateNew } from '@gantry/apimachinery';
import { podDisruptionBudgets } from './pod-disruption-budget.ts';

it.each([
  ['Upper', []],
  ['a_b', []],
  ['x'.repeat(300), []],
  ['a/b', ["may not contain '/'"]],
  ['..', ["may not be '..'"]],
])('a budget may be called whatever fits into a path: %s', (name, faults) => {
  const metadata = { name, namespace: 'n', finalizers: ['example.org/f', 'nope'] };
  const budget: PodDisruptionBudget = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata, spec: {} };
  const errors = validateNew(podDisruptionBudgets, budget);
  expect(errors.filter(({ field }) => field === 'metadata.name').map(({ detail }) => detail)).toEqual(faults);
  expect(errors.filter(({ field }) => field.startsWith('metadata.finalizers'))).toEqual([]);
});
