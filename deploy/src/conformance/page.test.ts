import { expect, test } from 'vitest';
import { formatPage } from './page.ts';
import type { OfficialTest } from './test-list.ts';
import type { DatedResult, TestResult } from './test-result.ts';
import { parseRules } from './waits-for.ts';

const parallel = (area: string, name: string): OfficialTest => ({
  name: `[${area}] ${name}`,
  area,
  schedule: 'parallel',
});
const TESTS = [
  parallel('sig-node', 'Pods should run [Conformance]'),
  parallel('sig-network', 'DNS a|b [Conformance]'),
  parallel('sig-network', 'Services should route [Conformance]'),
  parallel('sig-auth', 'tokens should expire'),
  parallel('sig-auth', 'tokens should be short'),
];
const result = (
  name: string,
  outcome: TestResult['outcome'],
  seconds: number,
  date = '2026-05-01',
): [string, DatedResult] => [name, { name, outcome, seconds, date }];
const RULES = parseRules('[{"test":"DNS","part":"network","why":"cluster DNS"}]');
const page = (results: readonly (readonly [string, DatedResult])[]) =>
  formatPage({ release: 'v1.36.2', tests: TESTS, results: new Map(results), rules: RULES });

test('the first line counts the conformance tests that passed', () => {
  const text = page([
    result('[sig-node] Pods should run [Conformance]', 'passed', 4.25),
    result('[sig-auth] tokens should expire', 'passed', 1),
  ]);
  expect(text.split('\n')[0]).toBe('1 of 3');
});

test('each test says its result, its time and what it waits for', () => {
  const text = page([
    result('[sig-node] Pods should run [Conformance]', 'passed', 4.25),
    result('[sig-network] DNS a|b [Conformance]', 'failed', 300),
  ]);
  expect(text).toContain('| [sig-node] Pods should run [Conformance] | passed | 4.3 |  |');
  expect(text).toContain(String.raw`| [sig-network] DNS a\|b [Conformance] | failed | 300.0 | network: cluster DNS |`);
  expect(text).toContain('| [sig-network] Services should route [Conformance] | not run |  |  |');
  expect(text).toContain('| sig-network | 0 | 1 | 0 | 1 | 2 |');
  expect(text).toContain('| network | 1 |');
  expect(text).not.toContain('tokens should expire');
});

test('a test that was not run says what it waits for where its name alone does', () => {
  const text = page([]);
  expect(text).toContain(String.raw`| [sig-network] DNS a\|b [Conformance] | not run |  | network: cluster DNS |`);
  expect(text).toContain('| [sig-node] Pods should run [Conformance] | not run |  |  |');
});

test('the page says how many tests have not been run, until all have a result', () => {
  const node = result('[sig-node] Pods should run [Conformance]', 'passed', 1);
  const dns = result('[sig-network] DNS a|b [Conformance]', 'passed', 1);
  expect(page([node])).toContain('2 of them were not run.');
  expect(page([node, dns, result('[sig-network] Services should route [Conformance]', 'failed', 1)])).not.toContain(
    'were not run',
  );
});

test('the page says on which days its results were had, and how many each day', () => {
  const text = page([
    result('[sig-network] DNS a|b [Conformance]', 'failed', 1, '2026-05-02'),
    result('[sig-node] Pods should run [Conformance]', 'passed', 1),
    result('[sig-network] Services should route [Conformance]', 'passed', 1, '2026-05-02'),
  ]);
  expect(text).toContain('\nDays of these results: 2026-05-01 (1), 2026-05-02 (2).\n');
  expect(page([])).not.toContain('Days of');
});
