/** `sum-reports FILE...`: one line of the tests of all parts, from vitest's JSON reports. A part without a report or without tests failed. */
import { existsSync, readFileSync } from 'node:fs';

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly { readonly status: string; readonly assertionResults: readonly unknown[] }[];
}

let passed = 0;
let failed = 0;
for (const file of process.argv.slice(2)) {
  const report = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Report) : undefined;
  // Files that could not be loaded.
  const broken = report?.testResults.filter((one) => one.status === 'failed' && one.assertionResults.length === 0);
  const failures = (report?.numFailedTests ?? 0) + (broken?.length ?? 0);
  passed += report?.numPassedTests ?? 0;
  failed += failures;
  if (failures === 0 && !report?.numPassedTests) {
    failed += 1;
    process.stderr.write(`${file}: no tests ran\n`);
  }
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
if (failed > 0) process.exitCode = 1;
