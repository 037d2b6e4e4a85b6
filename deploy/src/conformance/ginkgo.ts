/** Runs the official program by Ginkgo's own command, and says which test has ended while it runs. */
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { OutputReader } from './output-reader.ts';
import type { TestResult } from './test-result.ts';

export interface GinkgoRun {
  /** The folder with `ginkgo` and `e2e.test`. */
  readonly program: string;
  readonly kubeconfig: string;
  readonly kubectl: string;
  /** How many tests at once. */
  readonly processes: number;
  readonly focus: readonly string[];
  /** The names of the tests that are run. */
  readonly tests: readonly string[];
  /** Where the program writes its JUnit report. */
  readonly reports: string;
  /** The program's output is appended here. */
  readonly log: string;
}

/** Calls the listener at each interruption until the returned function is called. */
export type OnInterrupt = (listener: (count: number) => void) => () => void;

/**
 * Runs until Ginkgo ends, and gives its exit code. At the first interruption Ginkgo stops the tests that run, cleans up and
 * reports; at the second it is killed.
 */
export async function runGinkgo(
  run: GinkgoRun,
  inherited: Readonly<Record<string, string | undefined>>,
  onInterrupt: OnInterrupt,
  onResult: (result: TestResult) => void,
): Promise<number> {
  const log = createWriteStream(run.log, { flags: 'a' });
  // A group of its own: the keyboard's interruption reaches it through us alone.
  const child = spawn(join(run.program, 'ginkgo'), argumentsOf(run), {
    cwd: run.reports,
    env: { ...inherited, KUBECONFIG: run.kubeconfig },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  child.stdout.pipe(log, { end: false });
  const reader = new OutputReader(run.tests);
  createInterface({ input: child.stdout }).on('line', (line) => {
    const result = reader.read(line);
    if (result !== undefined) onResult(result);
  });
  child.stderr.pipe(log, { end: false });
  const unsubscribe = onInterrupt((count) => {
    // All of its group: Ginkgo expects the keyboard's interruption, which reaches its test processes, too.
    if (child.pid !== undefined && child.exitCode === null)
      process.kill(-child.pid, count === 1 ? 'SIGINT' : 'SIGKILL');
  });
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => resolve(code ?? 1));
    });
  } finally {
    unsubscribe();
    log.end();
  }
}

function argumentsOf(run: GinkgoRun): readonly string[] {
  return [
    `--procs=${run.processes}`,
    '--no-color',
    '--timeout=24h',
    '-v',
    ...run.focus,
    join(run.program, 'e2e.test'),
    '--',
    '--provider=skeleton',
    '--disable-log-dump',
    `--kubeconfig=${run.kubeconfig}`,
    `--kubectl-path=${run.kubectl}`,
    `--report-dir=${run.reports}`,
  ];
}
