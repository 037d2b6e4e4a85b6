/** `npm test`: check, then the integration tests; then the slowest files of each, and a last line that sums up both. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ReportedFile, slowestFiles } from './slowest-files.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const results = (name: string) => join(root, '.gantry', `${name}.json`);

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

function read(name: string): Summary {
  const none = { numPassedTests: 0, numFailedTests: 1, numFailedTestSuites: 0, testResults: [] };
  return existsSync(results(name)) ? (JSON.parse(readFileSync(results(name), 'utf8')) as Summary) : none;
}

for (const name of ['unit', 'integration', 'check']) rmSync(results(name), { force: true });
process.stdout.write('checks\n');
// What the integration tests need is fetched while the checks compute. They look again, and report what is missing.
const preparing = run(join(root, 'deploy/bin/ensure-integration'), []);
const checkCode = await run(process.execPath, [join(root, 'deploy/tools/check.ts'), '--json', results('check')]);
await preparing;
process.stdout.write('\nintegration tests\n');
const integrationCode = await run(join(root, 'deploy/bin/integration'), [
  '--reporter=default',
  '--reporter=./deploy/tools/running-tests.ts',
  '--reporter=json',
  `--outputFile.json=${results('integration')}`,
]);

const reports = { unit: read('unit'), integration: read('integration') };
for (const [name, { testResults }] of Object.entries(reports)) {
  const lines = slowestFiles(testResults, root, MOST_SLOW_FILES);
  if (lines.length > 0) process.stdout.write(`\nslowest files of ${name} tests\n${lines.join('\n')}\n`);
}
const suites = Object.values(reports);
const sum = (of: (summary: Summary) => number) => suites.reduce((total, summary) => total + of(summary), 0);
const checks = existsSync(results('check'))
  ? (JSON.parse(readFileSync(results('check'), 'utf8')) as { name: string; code: number }[])
  : [{ name: 'check', code: checkCode }];
// The unit tests are counted one by one; the other checks count as one test each.
const others = checks.filter(({ name }) => name !== 'unit tests');
const failedChecks = others.filter(({ code }) => code !== 0).length;
const passed = sum((summary) => summary.numPassedTests) + others.length - failedChecks;
const broken = sum((summary) => summary.numFailedTests) + failedChecks;
const failed = broken === 0 && (checkCode !== 0 || integrationCode !== 0) ? 1 : broken;
process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
