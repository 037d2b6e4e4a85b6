import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'sum-reports-'));
afterAll(() => rmSync(folder, { recursive: true }));

const failedTest = {
  fullName: 'group test',
  status: 'failed',
  failureMessages: ['Error: \u001b[31mtwo\u001b[39m, not one\n    at line 3'],
};
const PARTS = {
  good: {
    numPassedTests: 3,
    numFailedTests: 0,
    testResults: [{ name: 'a.ts', status: 'passed', assertionResults: [{ status: 'passed' }] }],
  },
  bad: {
    numPassedTests: 2,
    numFailedTests: 1,
    testResults: [
      { name: 'b.ts', status: 'failed', message: '', assertionResults: [{ status: 'passed' }, failedTest] },
    ],
  },
  broken: {
    numPassedTests: 1,
    numFailedTests: 0,
    testResults: [{ name: 'c.ts', status: 'failed', message: 'no such module', assertionResults: [] }],
  },
  cleared: {
    numPassedTests: 1,
    numFailedTests: 0,
    testResults: [{ name: 'd.ts', status: 'failed', message: 'afterAll', assertionResults: [{ status: 'passed' }] }],
  },
  empty: { numPassedTests: 0, numFailedTests: 0, testResults: [] },
};
for (const [name, report] of Object.entries(PARTS)) writeFileSync(join(folder, name), JSON.stringify(report));
writeFileSync(join(folder, 'cut'), '{"numPassedTests": 3, "testRes');

it.each([
  [['good', 'good'], '6 passed, 0 failed', 0],
  [['good', 'bad'], 'FAILED b.ts: group test\n  Error: two, not one\n      at line 3\n5 passed, 1 failed', 1],
  [['good', 'broken'], 'FAILED c.ts: the file itself\n  no such module\n4 passed, 1 failed', 1],
  [['good', 'cleared'], 'FAILED d.ts: the file itself\n  afterAll\n4 passed, 1 failed', 1],
  [['good', 'empty'], 'FAILED empty: no tests ran\n  \n3 passed, 1 failed', 1],
  [['cut', 'good'], 'FAILED cut: no tests ran\n  \n3 passed, 1 failed', 1],
  [['good', 'missing'], 'FAILED missing: no tests ran\n  \n3 passed, 1 failed', 1],
])('the reports %j', (files, output, code) => {
  const program = join(import.meta.dirname, 'sum-reports.ts');
  const { stdout, status } = spawnSync(process.execPath, [program, ...files], { cwd: folder });
  expect([stdout.toString(), status]).toEqual([`${output}\n`, code]);
});
