import { formatTime, type Instant } from '@gantry/base';
import { type Job, labelSelectorFrom, type Pod, TRACKING_FINALIZER } from '@gantry/objects';
import { claimObjects } from '../../libraries/ownership.ts';
import { isActive, isReady, isTerminating } from '../../libraries/pods/pod-state.ts';
import { type BackoffRecord, nextBackoff } from './backoff.ts';
import { judgePodFailure } from './failure-policy.ts';
import { countJobIndexes, type IndexCounts } from './index-counts.ts';
import { countIndexes } from './intervals.ts';
import { hasFinalizer, isFailed, isIndexed, isSuspended, validIndex } from './job-rules.ts';

/** The input of the plan. */
export interface ObservedJob {
  readonly job: Job;
  /** Pods of the Job's namespace that it controls or may select. */
  readonly pods: readonly Pod[];
  readonly backoff: BackoffRecord;
  /** Uids of pods whose finalizer this term has removed: the cache may still show it. */
  readonly settled: ReadonlySet<string>;
}

/** A Job with its pods, and values derived from them. */
export interface JobView {
  readonly job: Job;
  readonly adopted: readonly Pod[];
  readonly released: readonly Pod[];
  /** The Job's pods, including those being adopted. */
  readonly pods: readonly Pod[];
  readonly active: readonly Pod[];
  readonly ready: number;
  readonly terminating: number;
  readonly uncounted: { readonly succeeded: readonly string[]; readonly failed: readonly string[] };
  readonly settled: ReadonlySet<string>;
  /** Succeeded pods (or indexes of an Indexed Job), whether counted in the status or not. */
  readonly succeeded: number;
  readonly failed: number;
  readonly backoff: BackoffRecord;
  /** Of an Indexed Job. */
  readonly indexes: IndexCounts | undefined;
  readonly startTime: string | undefined;
}

export function viewJob({ job, pods: candidates, backoff, settled }: ObservedJob, now: Instant): JobView {
  const selector = labelSelectorFrom(job.spec?.selector);
  const { owned, adopt, release } = claimObjects(job, candidates, (labels) => selector.matches(labels));
  const pods = [...owned, ...adopt.map(withFinalizer)];
  const active = pods.filter(isActive);
  const { succeeded = [], failed = [] } = job.status?.uncountedTerminatedPods ?? {};
  const isNew = (pod: Pod, uncounted: ReadonlySet<string>) => {
    const { uid = '' } = pod.metadata;
    const isValid = !isIndexed(job) || validIndex(pod, job) !== undefined;
    return hasFinalizer(pod) && isValid && !settled.has(uid) && !uncounted.has(uid);
  };
  const [known, knownFailed] = [new Set(succeeded), new Set(failed)];
  const newSucceeded = pods.filter((pod) => pod.status?.phase === 'Succeeded' && isNew(pod, known));
  const newFailed = pods.filter((pod) => isFailed(pod, job) && isNew(pod, knownFailed));
  const policy = job.spec?.podFailurePolicy;
  const newCounted = newFailed.filter((pod) => judgePodFailure(policy, pod).isCounted);
  const indexes = isIndexed(job) ? countJobIndexes(job, pods, settled) : undefined;
  const countedPods = (job.status?.succeeded ?? 0) + newSucceeded.length + succeeded.length;
  return {
    job,
    adopted: adopt,
    released: release,
    pods,
    active,
    ready: active.filter(isReady).length,
    terminating: pods.filter(isTerminating).length,
    uncounted: { succeeded, failed },
    settled,
    succeeded: indexes === undefined ? countedPods : countIndexes(indexes.succeeded),
    failed: (job.status?.failed ?? 0) + newCounted.length + failed.length,
    backoff: nextBackoff(backoff, newSucceeded, newFailed),
    indexes,
    startTime: job.status?.startTime ?? (isSuspended(job) ? undefined : formatTime(now)),
  };
}

/** Adoption gives a pod the finalizer. */
function withFinalizer(pod: Pod): Pod {
  if (hasFinalizer(pod)) return pod;
  const finalizers = [...(pod.metadata.finalizers ?? []), TRACKING_FINALIZER];
  return { ...pod, metadata: { ...pod.metadata, finalizers } };
}
