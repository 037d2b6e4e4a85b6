/**
 * `npm test`: the checks, with the integration tests that need no cluster beside them; then those on a cluster; then the slowest files of
 * each, and a last line that sums up all.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ReportedFile, slowestFiles } from './slowest-files.ts';
import { REPORTS } from './test-reports.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const CHECKS = join(root, '.gantry/check.json');
/** Checks whose tests are counted one by one; each of the others counts as one test. */
const SUITES: readonly string[] = ['unit tests', 'parts'];

interface Summary {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numFailedTestSuites: number;
  readonly testResults: readonly ReportedFile[];
}

const MOST_SLOW_FILES = 15;

function run(program: string, args: readonly string[]): Promise<number> {
  return new Promise((done) => {
    const child = spawn(program, [...args], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
    child.once('error', () => done(127));
    child.once('close', (code) => done(code ?? 1));
  });
}

function read(report: string): Summary {
  const none = { numPassedTests: 0, numFailedTests: 1, numFailedTestSuites: 0, testResults: [] };
  return existsSync(report) ? (JSON.parse(readFileSync(report, 'utf8')) as Summary) : none;
}

for (const report of [CHECKS, ...Object.values(REPORTS)]) rmSync(resolve(root, report), { force: true });
process.stdout.write('checks and tests of parts\n');
const checkCode = await run(process.execPath, [join(root, 'deploy/tools/check.ts'), '--docker', '--json', CHECKS]);
process.stdout.write('\nintegration tests\n');
const integrationCode = await run(join(root, 'deploy/bin/integration'), [
  '--project',
  'cluster*',
  '--reporter=default',
  '--reporter=./deploy/tools/running-tests.ts',
  '--reporter=json',
  `--outputFile.json=${REPORTS.integration}`,
]);

const reports = Object.entries(REPORTS).map(([name, report]) => [name, read(join(root, report))] as const);
for (const [name, { testResults }] of reports) {
  const lines = slowestFiles(testResults, root, MOST_SLOW_FILES);
  if (lines.length > 0) process.stdout.write(`\nslowest files of ${name} tests\n${lines.join('\n')}\n`);
}
const sum = (of: (summary: Summary) => number) => reports.reduce((total, [, summary]) => total + of(summary), 0);
const checks = existsSync(CHECKS)
  ? (JSON.parse(readFileSync(CHECKS, 'utf8')) as { name: string; code: number }[])
  : [{ name: 'check', code: checkCode }];
const others = checks.filter(({ name }) => !SUITES.includes(name));
const failedChecks = others.filter(({ code }) => code !== 0).length;
const passed = sum((summary) => summary.numPassedTests) + others.length - failedChecks;
const broken = sum((summary) => summary.numFailedTests) + failedChecks;
const failed = broken === 0 && (checkCode !== 0 || integrationCode !== 0) ? 1 : broken;
process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
