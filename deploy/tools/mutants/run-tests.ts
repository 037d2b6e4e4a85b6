import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** What a run of test files came to. */
export type TestRun =
  | { readonly kind: 'passed'; readonly tests: number }
  /** The first test that failed, and the first line of its message. */
  | { readonly kind: 'failed'; readonly test: string; readonly message: string }
  /** No test failed, and yet the run did: a file did not load, or the runner ended. */
  | { readonly kind: 'broken'; readonly why: string }
  | { readonly kind: 'timed-out' };

/** The part of Vitest's JSON report that is read. */
export interface TestReport {
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

export interface RunOptions {
  /** A copy of the repository. */
  readonly folder: string;
  readonly tests: readonly string[];
  /** Ends at the first test that fails. */
  readonly bail: boolean;
  /** For one test; the whole run has ten times as long. */
  readonly testTimeoutMs: number;
}

/** Runs unit test files in a copy of the repository. */
export async function runTests({ folder, tests, bail, testTimeoutMs }: RunOptions): Promise<TestRun> {
  const report = join(folder, '.gantry-mutants.json');
  rmSync(report, { force: true });
  const args = [
    'run',
    '--reporter=json',
    // By their content: most modules are the same from one mutant to the next.
    '--experimental.fsModuleCache',
    `--outputFile=${report}`,
    `--testTimeout=${testTimeoutMs}`,
    `--hookTimeout=${testTimeoutMs}`,
    ...(bail ? ['--bail=1'] : []),
    ...tests,
  ];
  const ended = await run(join(folder, 'node_modules/.bin/vitest'), args, folder, testTimeoutMs * 10);
  if (ended.kind === 'timed-out') return ended;
  if (!existsSync(report)) return { kind: 'broken', why: ended.output.trim().slice(-2000) };
  return readReport(JSON.parse(readFileSync(report, 'utf8')) as TestReport, tests.length);
}

/** What a report says of a run of as many files. */
export function readReport(report: TestReport, files: number): TestRun {
  for (const { assertionResults } of report.testResults) {
    const failed = assertionResults.find(({ status }) => status === 'failed');
    if (failed !== undefined) {
      const message = failed.failureMessages?.[0]?.split('\n')[0] ?? '';
      return { kind: 'failed', test: failed.fullName, message };
    }
  }
  const unloaded = report.testResults.find(({ status }) => status === 'failed');
  if (unloaded !== undefined) return { kind: 'broken', why: `${unloaded.name}: ${unloaded.message ?? ''}`.trim() };
  if (report.testResults.length !== files) {
    return { kind: 'broken', why: `${report.testResults.length} of ${files} test files were found` };
  }
  return { kind: 'passed', tests: report.numPassedTests };
}

type Ended = { readonly kind: 'ended'; readonly output: string } | { readonly kind: 'timed-out' };

function run(program: string, args: readonly string[], cwd: string, timeoutMs: number): Promise<Ended> {
  const { promise, resolve, reject } = Promise.withResolvers<Ended>();
  const child = spawn(program, args, { cwd, env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' } });
  let output = '';
  let isTimedOut = false;
  // A line whose loss makes a loop endless blocks its thread: only the signal ends it.
  const timer = setTimeout(() => {
    isTimedOut = true;
    child.kill('SIGKILL');
  }, timeoutMs);
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.once('error', reject);
  child.once('close', () => {
    clearTimeout(timer);
    resolve(isTimedOut ? { kind: 'timed-out' } : { kind: 'ended', output });
  });
  return promise;
}
