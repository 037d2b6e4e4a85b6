import type { Job, Pod } from '@gantry/objects';
import { isActive, isTerminating } from '../../libraries/pods/pod-state.ts';
import { finishedAt } from './backoff.ts';
import { judgePodFailure } from './failure-policy.ts';
import {
  countIndexes,
  firstFree,
  hasIndex,
  type Intervals,
  mergeIntervals,
  parseIntervals,
  withIndexes,
} from './intervals.ts';
import {
  completionIndex,
  hasFinalizer,
  isFailed,
  limitsEachIndex,
  replacesOnlyFailed,
  validIndex,
} from './job-rules.ts';

/** Annotation of pods of a Job with `backoffLimitPerIndex`: how many pods of the index failed before. */
export const FAILURE_COUNT = 'batch.kubernetes.io/job-index-failure-count';
/** The same for failures that the podFailurePolicy ignored. */
export const IGNORED_FAILURE_COUNT = 'batch.kubernetes.io/job-index-ignored-failure-count';

/** The outcome of the completion indexes of an Indexed Job. */
export interface IndexCounts {
  /** Indexes that the status already contains. */
  readonly counted: Intervals;
  readonly succeeded: Intervals;
  /** Undefined without a limit per index. */
  readonly failed: Intervals | undefined;
  /** Failed pods by index that keep their finalizer until the successor has taken over the failure count. */
  readonly awaitingSuccessor: ReadonlyMap<number, Pod>;
}

export function countJobIndexes(job: Job, pods: readonly Pod[], settled: ReadonlySet<string>): IndexCounts {
  const completions = job.spec?.completions ?? 0;
  const valid = pods.filter((pod) => validIndex(pod, job) !== undefined && hasFinalizer(pod));
  const counted = parseIntervals(job.status?.completedIndexes ?? '', completions);
  const succeeded = withIndexes(counted, indexesOf(valid.filter(({ status }) => status?.phase === 'Succeeded')));
  if (!limitsEachIndex(job)) return { counted, succeeded, failed: undefined, awaitingSuccessor: new Map() };
  const before = parseIntervals(job.status?.failedIndexes ?? '', completions);
  const failed = withIndexes(before, indexesOf(valid.filter((pod) => failsIndex(pod, job))));
  const open = valid.filter((pod) => !settled.has(pod.metadata.uid ?? '') && isFailed(pod, job));
  const running = indexesOf(pods.filter(isActive));
  const replaceable = open.filter((pod) => {
    const index = completionIndex(pod) ?? -1;
    return !hasIndex(succeeded, index) && !hasIndex(failed, index) && !running.has(index);
  });
  return { counted, succeeded, failed, awaitingSuccessor: lastOfEachIndex(replaceable) };
}

/** The number of indexes that have succeeded or failed. */
export function countEnded({ succeeded, failed }: IndexCounts): number {
  return countIndexes(succeeded) + countIndexes(failed ?? []);
}

/** The next `count` indexes that need a pod. */
export function pendingIndexes(job: Job, pods: readonly Pod[], counts: IndexCounts, count: number): number[] {
  let taken = withIndexes(counts.succeeded, indexesOf(pods.filter(isActive)));
  if (replacesOnlyFailed(job)) taken = withIndexes(taken, indexesOf(pods.filter(isTerminating)));
  return firstFree(mergeIntervals(taken, counts.failed ?? []), count, job.spec?.completions ?? 0);
}

/** The initial failure counts of a failed pod's successor. */
export function failureCountsAfter(
  job: Job,
  failed: Pod | undefined,
): { readonly counted: number; readonly ignored: number } {
  if (failed === undefined) return { counted: 0, ignored: 0 };
  const { isCounted } = judgePodFailure(job.spec?.podFailurePolicy, failed);
  return {
    counted: readCount(failed, FAILURE_COUNT) + (isCounted ? 1 : 0),
    ignored: readCount(failed, IGNORED_FAILURE_COUNT) + (isCounted ? 0 : 1),
  };
}

/** The number of pods of its index that failed before a pod, including ignored failures. */
export function failuresBefore(pod: Pod): number {
  return readCount(pod, FAILURE_COUNT) + readCount(pod, IGNORED_FAILURE_COUNT);
}

function failsIndex(pod: Pod, job: Job): boolean {
  if (!isFailed(pod, job)) return false;
  const verdict = judgePodFailure(job.spec?.podFailurePolicy, pod);
  if (verdict.failsIndex) return true;
  return verdict.isCounted && readCount(pod, FAILURE_COUNT) >= (job.spec?.backoffLimitPerIndex ?? 0);
}

function lastOfEachIndex(pods: readonly Pod[]): ReadonlyMap<number, Pod> {
  const last = new Map<number, Pod>();
  for (const pod of pods) {
    const index = completionIndex(pod) ?? -1;
    const other = last.get(index);
    const isLater =
      other === undefined || (failuresBefore(other) <= failuresBefore(pod) && finishedAt(pod) >= finishedAt(other));
    if (isLater) last.set(index, pod);
  }
  return last;
}

function indexesOf(pods: readonly Pod[]): ReadonlySet<number> {
  return new Set(pods.flatMap((pod) => completionIndex(pod) ?? []));
}

/** The number in an annotation; 0 if it is absent or not a 32-bit integer. */
function readCount({ metadata }: Pod, annotation: string): number {
  const text = metadata.annotations?.[annotation] ?? '';
  const count = /^\+?\d{1,10}$/.test(text) ? Number(text) : 0;
  return count < 2 ** 31 ? count : 0;
}
