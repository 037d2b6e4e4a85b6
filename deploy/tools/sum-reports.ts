/**
 * `sum-reports FILE...`: what failed in the tests of all parts and why, then one line of their numbers, from vitest's JSON reports: who
 * has only the end of a long log finds the failures there. A part without a whole report or without tests failed.
 */
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** Lines of a failure's message: an assertion's difference and the first frames of its stack fit. */
const MESSAGE_LINES = 30;
/** Characters of one of these lines. */
const LINE_LENGTH = 300;

function describe(file: string, test: string, message: string): string {
  const lines = stripVTControlCharacters(message).split('\n').slice(0, MESSAGE_LINES);
  return `FAILED ${relative('', file)}: ${test}\n${lines.map((line) => `  ${line.slice(0, LINE_LENGTH)}\n`).join('')}`;
}

/** Undefined where there is none, or only a part of one, as of a run that was killed. */
function readReport(file: string): Report | undefined {
  try {
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Report) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

let passed = 0;
const failures: string[] = [];
for (const part of process.argv.slice(2)) {
  const report = readReport(part);
  passed += report?.numPassedTests ?? 0;
  for (const { name, status, message, assertionResults } of report?.testResults ?? []) {
    const failed = assertionResults.filter((one) => one.status === 'failed');
    for (const { fullName, failureMessages } of failed)
      failures.push(describe(name, fullName, failureMessages.join('\n')));
    // A file that could not be loaded, or whose preparation or clearing away failed.
    if (status === 'failed' && failed.length === 0) failures.push(describe(name, 'the file itself', message));
  }
  if (!report?.numPassedTests && !report?.numFailedTests) failures.push(describe(part, 'no tests ran', ''));
}
process.stdout.write(`${failures.join('')}${passed} passed, ${failures.length} failed\n`);
if (failures.length > 0) process.exitCode = 1;
