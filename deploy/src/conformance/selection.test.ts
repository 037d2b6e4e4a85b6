import { expect, test } from 'vitest';
import { type Choice, selectTests } from './selection.ts';
import type { OfficialTest } from './test-list.ts';
import type { TestResult } from './test-result.ts';

const TESTS: readonly OfficialTest[] = [
  { name: '[sig-node] Pods should run [Conformance]', area: 'sig-node', schedule: 'parallel' },
  { name: '[sig-node] Pods should stop [Conformance]', area: 'sig-node', schedule: 'parallel' },
  { name: '[sig-network] DNS should answer [Conformance]', area: 'sig-network', schedule: 'parallel' },
  { name: '[sig-network] DNS should answer quickly', area: 'sig-network', schedule: 'parallel' },
];
const RESULTS = new Map<string, TestResult>([
  ['[sig-node] Pods should run [Conformance]', { name: '', outcome: 'passed', seconds: 1 }],
  ['[sig-node] Pods should stop [Conformance]', { name: '', outcome: 'failed', seconds: 1 }],
]);
const indexes = (choice: Choice) => selectTests(TESTS, choice, RESULTS).map((found) => TESTS.indexOf(found));

test('without a choice it is the suite; with `all` what is claimed beyond it, too, and with `beyond` only that', () => {
  expect(indexes({ scope: 'conformance' })).toEqual([0, 1, 2]);
  expect(indexes({ scope: 'all' })).toEqual([0, 1, 2, 3]);
  expect(indexes({ scope: 'beyond' })).toEqual([3]);
});

test('each part of a choice narrows it', () => {
  expect(indexes({ scope: 'conformance', area: 'sig-node' })).toEqual([0, 1]);
  expect(indexes({ scope: 'all', focus: /DNS/ })).toEqual([2, 3]);
  expect(indexes({ scope: 'conformance', last: 'failed' })).toEqual([1]);
  expect(indexes({ scope: 'conformance', area: 'sig-network', last: 'failed' })).toEqual([]);
  expect(indexes({ scope: 'conformance', last: 'none' })).toEqual([2]);
});
