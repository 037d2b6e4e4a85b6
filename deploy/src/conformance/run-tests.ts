import { join } from 'node:path';
import { type Clock, formatTime } from '@gantry/base';
import { focusArguments } from './focus.ts';
import { type OnInterrupt, runGinkgo } from './ginkgo.ts';
import { resultsOf } from './junit.ts';
import { formatProgress } from './format-progress.ts';
import { recordResults, remaining, type RunState } from './run-state.ts';
import type { Store } from './store.ts';
import type { OfficialTest } from './test-list.ts';

export interface TestRun {
  readonly store: Store;
  readonly clock: Clock;
  readonly program: string;
  readonly kubeconfig: string;
  readonly kubectl: string;
  readonly processes: number;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly onInterrupt: OnInterrupt;
  /** Told at each test that ends, with all that is known. */
  onProgress(line: string, event: { readonly name: string; readonly outcome: string }): void;
}

/**
 * Runs what `state` still lacks: the parallel tests, then the serial ones. Each result is stored as soon as it is known, so
 * that a run can be resumed from any instant. Ends early when it is interrupted.
 */
export async function runTests(run: TestRun, tests: readonly OfficialTest[], state: RunState): Promise<RunState> {
  let now = state;
  let interrupted = 0;
  const unsubscribe = run.onInterrupt((count) => (interrupted = count));
  const startedAt = run.clock.monotonicMs();
  const before = state.results.size;
  try {
    for (const schedule of ['parallel', 'serial'] as const) {
      const left = new Set(remaining(now));
      const wanted = tests.filter((test) => left.has(test.name) && test.schedule === schedule);
      if (wanted.length === 0 || interrupted > 0) continue;
      now = { ...now, starts: now.starts + 1 };
      run.store.writeRun(now);
      const reports = run.store.reports(now.starts);
      const ginkgo = {
        ...run,
        processes: schedule === 'parallel' ? Math.min(run.processes, wanted.length) : 1,
        focus: focusArguments(wanted, tests),
        tests: wanted.map(({ name }) => name),
        reports,
        log: join(run.store.archive, 'e2e.log'),
      };
      await runGinkgo(ginkgo, run.environment, run.onInterrupt, (result) => {
        now = recordResults(now, [result], today(run.clock));
        run.store.writeRun(now);
        const failed = [...now.results.values()].filter(({ outcome }) => outcome === 'failed').length;
        const counts = { done: now.results.size, total: now.selected.length, failed };
        run.onProgress(formatProgress(counts, counts.done - before, run.clock.monotonicMs() - startedAt), result);
      });
      // The report has what the output does not say in one place: why a test failed.
      now = recordResults(now, resultsOf(run.store.cases(), new Set(now.selected)), today(run.clock));
      run.store.writeRun(now);
    }
  } finally {
    unsubscribe();
  }
  return now;
}

const today = (clock: Clock) => formatTime(clock.now()).slice(0, 'YYYY-MM-DD'.length);
