import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { RunState } from './run-state.ts';
import { Store } from './store.ts';
import type { DatedResult } from './test-result.ts';

const RELEASE = 'v1.36.2';

function emptyStore(): Store {
  const folder = mkdtempSync(join(tmpdir(), 'conformance-store-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return new Store(folder);
}
const results = (...entries: readonly DatedResult[]) => new Map(entries.map((entry) => [entry.name, entry]));
const result = (name: string, outcome: DatedResult['outcome']): DatedResult => ({
  name,
  outcome,
  seconds: 1,
  date: '2026-05-01',
});
const run = (...entries: readonly DatedResult[]): RunState => ({
  selected: ['a', 'b', 'c'],
  startedAt: '2026-05-01T00:00:00Z',
  starts: 1,
  results: results(...entries),
});

test('what a killed run has found out is kept, and a new run forgets none of it', () => {
  const store = emptyStore();
  store.writeResults(RELEASE, results(result('a', 'failed'), result('b', 'passed')));
  store.writeRun(run(result('a', 'passed'), result('c', 'failed')));
  const last = results(result('a', 'passed'), result('b', 'passed'), result('c', 'failed'));
  expect(store.readResults(RELEASE)).toEqual(last);

  store.clearRun(RELEASE);
  expect(store.readRun()).toBeUndefined();
  expect(store.readResults(RELEASE)).toEqual(last);
});

test('a new run has neither the reports nor the archive of the one before', () => {
  const store = emptyStore();
  const report = '<testcase name="[It] a" status="passed" time="1"></testcase>';
  writeFileSync(join(store.reports(1), 'junit_01.xml'), report);
  expect(store.cases().map(({ name }) => name)).toEqual(['a']);
  store.clearRun(RELEASE);
  expect(store.cases()).toEqual([]);
});
