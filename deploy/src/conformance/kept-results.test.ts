import { expect, test } from 'vitest';
import { formatKeptResults, laterResults, parseKeptResults } from './kept-results.ts';
import type { OfficialTest } from './test-list.ts';
import type { DatedResult } from './test-result.ts';

const RELEASE = 'v1.36.2';
const official = (name: string): OfficialTest => ({
  name: `[sig-node] ${name}`,
  area: 'sig-node',
  schedule: 'parallel',
});
const result = (name: string, date: string, outcome: DatedResult['outcome'] = 'passed'): DatedResult => ({
  name: `[sig-node] ${name}`,
  outcome,
  seconds: 2,
  date,
});
const byName = (...results: readonly DatedResult[]) => new Map(results.map((each) => [each.name, each]));
const TESTS = [official('Pods b'), official('Pods a'), official('Pods c'), official('Pods run [Conformance]')];

test('claimed tests beyond conformance are kept, one a line, and read again', () => {
  const results = byName(
    { ...result('Pods b', '2026-05-01', 'failed'), message: 'no\nhost' },
    result('Pods a', '2026-05-02'),
    result('Pods run [Conformance]', '2026-05-01'),
    result('Pods of no list', '2026-05-01'),
  );
  const text = formatKeptResults(RELEASE, TESTS, results);
  expect(text.split('\n')).toHaveLength(4);
  expect([...parseKeptResults(text, RELEASE).values()]).toEqual([
    results.get('[sig-node] Pods a'),
    results.get('[sig-node] Pods b'),
  ]);
});

test('of another release, or without a file, nothing is kept', () => {
  const text = formatKeptResults('v1.36.1', TESTS, byName(result('Pods a', '2026-05-01')));
  expect(parseKeptResults(text, RELEASE)).toEqual(new Map());
  expect(parseKeptResults('', RELEASE)).toEqual(new Map());
});

test('of each test the later result counts, of the same day that of this checkout', () => {
  const kept = byName(result('a', '2026-05-02'), result('b', '2026-05-01'), result('c', '2026-05-01'));
  const own = byName(
    result('a', '2026-05-01', 'failed'),
    result('b', '2026-05-01', 'failed'),
    result('d', '2026-05-01', 'skipped'),
  );
  const outcomes = [...laterResults(kept, own).values()].map(({ name, outcome }) => [name.at(-1), outcome]);
  expect(outcomes).toEqual([
    ['a', 'passed'],
    ['b', 'failed'],
    ['c', 'passed'],
    ['d', 'skipped'],
  ]);
});
