import { expect, test } from 'vitest';
import { areasToWrite, formatBeyondPage } from './beyond-page.ts';
import type { OfficialTest } from './test-list.ts';
import type { DatedResult, TestResult } from './test-result.ts';
import { parseRules } from './waits-for.ts';

const RELEASE = 'v1.36.2';
const official = (area: string, name: string): OfficialTest => ({
  name: `[${area}] ${name}`,
  area,
  schedule: 'parallel',
});
const TESTS = [
  official('sig-node', 'Pods should run [Conformance]'),
  official('sig-auth', 'tokens should expire'),
  official('sig-auth', 'tokens should be short'),
  official('sig-storage', 'In-tree Volumes [Driver: local] should mount'),
  official('sig-storage', 'In-tree Volumes [Driver: local] should have blocks'),
  official('sig-storage', 'In-tree Volumes [Driver: local] should have snapshots'),
  official('sig-storage', 'In-tree Volumes [Driver: nfs] should mount'),
];
const RULES = parseRules(`[
  {"test":"should mount","message":"cannot enter","part":"machine","why":"no host"},
  {"message":"does not support","part":"program","why":"not of this driver"}
]`);
const result = (name: string, outcome: TestResult['outcome'], message?: string): [string, DatedResult] => [
  name,
  { name, outcome, seconds: 2, date: '2026-05-01', ...(message === undefined ? {} : { message }) },
];
const STORAGE = [
  result('[sig-storage] In-tree Volumes [Driver: local] should mount', 'failed', 'cannot enter its host'),
  result('[sig-storage] In-tree Volumes [Driver: local] should have blocks', 'skipped', 'local does not support it'),
  result('[sig-storage] In-tree Volumes [Driver: local] should have snapshots', 'skipped', 'it does not support it'),
];
const page = (
  results: readonly (readonly [string, DatedResult])[],
  areas: readonly string[],
  before?: string,
  release = RELEASE,
) =>
  formatBeyondPage({ release, tests: TESTS, results: new Map(results), rules: RULES, areas: new Set(areas), before });

test('an area counts its tests, lists what failed with its reason, and counts what was skipped by reason', () => {
  const text = page(STORAGE, ['sig-storage']);
  expect(text).toContain('\n## sig-storage\n\nDays of these results: 2026-05-01 (3).\n');
  expect(text).toContain('| sig-storage | 0 | 1 | 2 | 0 | 3 |');
  expect(text).toContain('| machine | 1 |');
  expect(text).toContain(
    '| [sig-storage] In-tree Volumes [Driver: local] should mount | failed | 2.0 | machine: no host |',
  );
  expect(text).toContain('| program: not of this driver | 2 |');
  expect(text).not.toContain('should have blocks');
});

test('what passed and what has no result is only counted', () => {
  const text = page([result('[sig-auth] tokens should expire', 'passed')], ['sig-auth']);
  expect(text).toContain('| sig-auth | 1 | 0 | 0 | 1 | 2 |');
  expect(text).not.toContain('tokens should');
});

test('what is not claimed is counted by reason', () => {
  expect(page([], [])).toContain(
    '| not run because | tests |\n| --- | --- |\n| it needs a driver of another project | 1 |',
  );
});

test('an area that is not written anew keeps its section, in its place', () => {
  const before = page(STORAGE, ['sig-storage']);
  const both = page([result('[sig-auth] tokens should expire', 'failed')], ['sig-auth'], before);
  expect(both).toContain(before.slice(before.indexOf('## sig-storage')));
  expect(both.indexOf('## sig-auth')).toBeLessThan(both.indexOf('## sig-storage'));
  expect(page(STORAGE, ['sig-storage'], both)).toBe(both);
  expect(page([], [], both)).toBe(both);
});

test('of another release nothing is kept', () => {
  const before = page(STORAGE, ['sig-storage'], undefined, 'v1.36.1');
  expect(page([], [], before)).not.toContain('## sig-storage');
});

test('an area with results is written anew, those of conformance not counted', () => {
  const results = new Map([
    result('[sig-node] Pods should run [Conformance]', 'passed'),
    result('[sig-auth] tokens should expire', 'passed'),
    ...STORAGE,
  ]);
  expect([...areasToWrite(TESTS, results, undefined, 'without loss')]).toEqual(['sig-auth', 'sig-storage']);
});

test('an area of which the page has results of more tests is written anew only when all are asked for', () => {
  const before = page(STORAGE, ['sig-storage']);
  const [one, two, three] = STORAGE as [(typeof STORAGE)[0], (typeof STORAGE)[0], (typeof STORAGE)[0]];
  expect([...areasToWrite(TESTS, new Map([one, two]), before, 'without loss')]).toEqual([]);
  expect([...areasToWrite(TESTS, new Map([one, two]), before, 'all')]).toEqual(['sig-storage']);
  expect([...areasToWrite(TESTS, new Map([one, two, three]), before, 'without loss')]).toEqual(['sig-storage']);
});
