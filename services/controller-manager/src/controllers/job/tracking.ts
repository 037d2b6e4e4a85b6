import type { Job, JobCondition, Pod, PodFailurePolicyRule } from '@gantry/objects';
import { judgePodFailure } from './failure-policy.ts';
import { hasIndex } from './intervals.ts';
import { completionIndex, hasFinalizer, isFailed, isIndexed, limitsEachIndex, validIndex } from './job-rules.ts';
import type { JobView } from './observed-job.ts';

/** Counters of a Job's status, and the uids of ended pods that are not in the counters yet. */
export interface Counters {
  readonly succeeded: number;
  readonly failed: number;
  readonly uncounted: { readonly succeeded: readonly string[]; readonly failed: readonly string[] };
}

/**
 * Counts each ended pod exactly once, in three steps. First the status records the uids (`recorded`), then the pods lose their finalizer,
 * and only then the uids become counts (`counted`). After a crash between two of these writes, the next reconcile continues from the stored
 * state: a uid whose pod has no finalizer is counted; one whose pod still has it waits.
 */
export interface Tracking {
  readonly recorded: Counters;
  readonly finalized: readonly Pod[];
  /** The actions of the podFailurePolicy rules that decided on these pods. */
  readonly handled: readonly PodFailurePolicyRule['action'][];
  readonly counted: Counters;
  /** Whether there are more pods than one reconcile may record. */
  readonly isFull: boolean;
}

/** The maximum number of uids in a status, as in Kubernetes: about 20 KB. */
const MAX_UNCOUNTED = 500;

export function planTracking(view: JobView, end: JobCondition | undefined): Tracking {
  const { job, uncounted } = view;
  const open = view.pods.filter((pod) => hasFinalizer(pod) && !view.settled.has(uidOf(pod)));
  const waiting = new Set(open.map(uidOf));
  const before: Counters = { succeeded: job.status?.succeeded ?? 0, failed: job.status?.failed ?? 0, uncounted };
  const start = countWithoutFinalizer(before, waiting);
  const succeeded = [...start.uncounted.succeeded];
  const failed = [...start.uncounted.failed];
  const finalized: Pod[] = [];
  const handled: PodFailurePolicyRule['action'][] = [];
  const [known, knownFailed] = [new Set(uncounted.succeeded), new Set(uncounted.failed)];
  let newIndexes = 0;
  let isFull = false;
  for (const pod of isIndexed(job) ? byIndex(open) : open) {
    if (!mayLoseFinalizer(view, pod, end)) continue;
    finalized.push(pod);
    const uid = uidOf(pod);
    if (pod.status?.phase === 'Succeeded' && !knownFailed.has(uid)) {
      // The completed indexes in the status are sufficient: an index is not counted twice.
      if (isIndexed(job)) newIndexes += isNewIndex(view, pod) ? 1 : 0;
      else if (!known.has(uid)) succeeded.push(uid);
    } else if (endsAsFailed(view, pod, end) && !knownFailed.has(uid)) {
      const { isCounted, action } = judgePodFailure(job.spec?.podFailurePolicy, pod);
      if (isCounted) failed.push(uid);
      if (action !== undefined) handled.push(action);
    }
    if (newIndexes + succeeded.length + failed.length >= MAX_UNCOUNTED) {
      isFull = true;
      break;
    }
  }
  const recorded = { ...start, uncounted: { succeeded, failed } };
  for (const pod of finalized) waiting.delete(uidOf(pod));
  return { recorded, finalized, handled, counted: countWithoutFinalizer(recorded, waiting), isFull };
}

function countWithoutFinalizer({ succeeded, failed, uncounted }: Counters, waiting: ReadonlySet<string>): Counters {
  const left = {
    succeeded: uncounted.succeeded.filter((uid) => waiting.has(uid)),
    failed: uncounted.failed.filter((uid) => waiting.has(uid)),
  };
  return {
    succeeded: succeeded + uncounted.succeeded.length - left.succeeded.length,
    failed: failed + uncounted.failed.length - left.failed.length,
    uncounted: left,
  };
}

function mayLoseFinalizer({ job, indexes }: JobView, pod: Pod, end: JobCondition | undefined): boolean {
  if (job.metadata.deletionTimestamp !== undefined || end !== undefined || pod.status?.phase === 'Succeeded')
    return true;
  if (!isFailed(pod, job)) return false;
  if (!limitsEachIndex(job)) return true;
  const waiting = indexes?.awaitingSuccessor.get(completionIndex(pod) ?? -1);
  return waiting === undefined || uidOf(waiting) !== uidOf(pod);
}

/** When a Job fails, its pods that have not ended count as failed. */
function endsAsFailed({ job }: JobView, pod: Pod, end: JobCondition | undefined): boolean {
  if (!isFailed(pod, job) && (end === undefined || end.type === 'SuccessCriteriaMet')) return false;
  return !isIndexed(job) || validIndex(pod, job) !== undefined;
}

function isNewIndex({ job, indexes }: JobView, pod: Pod): boolean {
  const index = validIndex(pod, job);
  return index !== undefined && !hasIndex(indexes?.counted ?? [], index);
}

function byIndex(pods: readonly Pod[]): Pod[] {
  return [...pods].sort((a, b) => (completionIndex(a) ?? -1) - (completionIndex(b) ?? -1));
}

function uidOf({ metadata }: Pick<Pod | Job, 'metadata'>): string {
  return metadata.uid ?? '';
}
