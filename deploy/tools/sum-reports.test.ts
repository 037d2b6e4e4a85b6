import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'sum-reports-'));
afterAll(() => rmSync(folder, { recursive: true }));

const tested = { status: 'passed', assertionResults: [{}] };
const PARTS = {
  good: { numPassedTests: 3, numFailedTests: 0, testResults: [tested] },
  bad: { numPassedTests: 2, numFailedTests: 1, testResults: [{ ...tested, status: 'failed' }] },
  broken: { numPassedTests: 1, numFailedTests: 0, testResults: [tested, { status: 'failed', assertionResults: [] }] },
  empty: { numPassedTests: 0, numFailedTests: 0, testResults: [] },
};
for (const [name, report] of Object.entries(PARTS)) writeFileSync(join(folder, name), JSON.stringify(report));

it.each([
  [['good', 'good'], '6 passed, 0 failed', 0],
  [['good', 'bad'], '5 passed, 1 failed', 1],
  [['good', 'broken'], '4 passed, 1 failed', 1],
  [['good', 'empty'], '3 passed, 1 failed', 1],
  [['good', 'missing'], '3 passed, 1 failed', 1],
])('the reports %j: %s', (names, line, code) => {
  const files = names.map((name) => join(folder, name));
  const { stdout, status } = spawnSync(process.execPath, [join(import.meta.dirname, 'sum-reports.ts'), ...files]);
  expect([stdout.toString(), status]).toEqual([`${line}\n`, code]);
});
