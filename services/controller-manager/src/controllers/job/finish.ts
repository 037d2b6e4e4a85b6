import { formatTime, type Instant } from '@gantry/base';
import type { Job, JobCondition, Pod, SuccessPolicy } from '@gantry/objects';
import { judgePodFailure } from './failure-policy.ts';
import { countEnded } from './index-counts.ts';
import { countCommon, countIndexes, type Intervals, parseIntervals } from './intervals.ts';
import { isFailed, isSuspended } from './job-rules.ts';
import type { JobView } from './observed-job.ts';

/**
 * The condition with which a Job ends: `FailureTarget` or `SuccessCriteriaMet` at the first reconcile that finds the reason, `Failed` when
 * the status already contains the reason. Undefined while the Job continues. A decision is never changed.
 */
export function findEnd(view: JobView, now: Instant): JobCondition | undefined {
  const { job } = view;
  const met = trueCondition(job, 'SuccessCriteriaMet');
  if (met !== undefined) return met;
  const target = trueCondition(job, 'FailureTarget');
  if (target !== undefined) return newCondition('Failed', 'True', target, now);
  const failure = podFailure(view) ?? limitFailure(view, now) ?? indexFailure(view);
  if (failure !== undefined) return newCondition('FailureTarget', 'True', failure, now);
  const succeeded = view.indexes?.succeeded;
  if (succeeded === undefined) return undefined;
  const message = matchSuccessPolicy(job.spec?.successPolicy, job.spec?.completions ?? 0, succeeded);
  if (message === undefined) return undefined;
  return newCondition('SuccessCriteriaMet', 'True', { reason: 'SuccessPolicy', message }, now);
}

/** Whether the completions are reached; `active` is the number of remaining pods. */
export function isComplete({ job, succeeded }: JobView, active: number): boolean {
  if (active > 0) return false;
  const completions = job.spec?.completions;
  // Without `completions`, any success completes the Job.
  return completions === undefined ? succeeded > 0 : succeeded >= completions;
}

/** When `activeDeadlineSeconds` is over, in Unix milliseconds; undefined without it, and while the Job is suspended. */
export function deadlineOf({ job, startTime }: JobView): Instant | undefined {
  const seconds = job.spec?.activeDeadlineSeconds;
  if (seconds === undefined || startTime === undefined || isSuspended(job)) return undefined;
  return Date.parse(startTime) + seconds * 1000;
}

type Failure = Pick<JobCondition, 'reason' | 'message'>;

function podFailure({ job, pods }: JobView): Failure | undefined {
  const policy = job.spec?.podFailurePolicy;
  if (policy === undefined) return undefined;
  for (const pod of pods) {
    const message = isFailed(pod, job) ? judgePodFailure(policy, pod).failsJob : undefined;
    if (message !== undefined) return { reason: 'PodFailurePolicy', message };
  }
  return undefined;
}

function limitFailure(view: JobView, now: Instant): Failure | undefined {
  const { job, pods, failed } = view;
  if (failed > (job.spec?.backoffLimit ?? 6) || isRestartedTooOften(job, pods)) {
    return { reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit' };
  }
  if ((deadlineOf(view) ?? Infinity) <= now) {
    return { reason: 'DeadlineExceeded', message: 'Job was active longer than specified deadline' };
  }
  return undefined;
}

/** Restarts within pods count toward the limit if the restart policy is OnFailure. */
function isRestartedTooOften({ spec }: Job, pods: readonly Pod[]): boolean {
  if (spec?.template.spec?.restartPolicy !== 'OnFailure') return false;
  let restarts = 0;
  for (const { status } of pods) {
    if (status?.phase !== 'Running' && status?.phase !== 'Pending') continue;
    const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
    for (const { restartCount } of containers) restarts += restartCount;
  }
  return restarts >= Math.max(1, spec.backoffLimit ?? 6);
}

function indexFailure({ job, indexes }: JobView): Failure | undefined {
  if (indexes?.failed === undefined) return undefined;
  const failed = countIndexes(indexes.failed);
  if (failed > (job.spec?.maxFailedIndexes ?? Infinity)) {
    const message = 'Job has exceeded the specified maximal number of failed indexes';
    return { reason: 'MaxFailedIndexesExceeded', message };
  }
  if (failed > 0 && countEnded(indexes) >= (job.spec?.completions ?? 0)) {
    return { reason: 'FailedIndexes', message: 'Job has failed indexes' };
  }
  return undefined;
}

/** The message of the condition if a rule of the success policy is met; undefined otherwise. */
function matchSuccessPolicy(
  policy: SuccessPolicy | undefined,
  completions: number,
  succeeded: Intervals,
): string | undefined {
  if (policy === undefined || succeeded.length === 0) return undefined;
  const met = policy.rules.findIndex(({ succeededIndexes, succeededCount = Infinity }) => {
    if (succeededIndexes === undefined) return countIndexes(succeeded) >= succeededCount;
    const required = parseIntervals(succeededIndexes, completions);
    const reached = countCommon(required, succeeded);
    return required.length > 0 && (reached === countIndexes(required) || reached >= succeededCount);
  });
  return met < 0 ? undefined : `Matched rules at index ${met}`;
}

type JobConditionType = 'Complete' | 'Failed' | 'FailureTarget' | 'SuccessCriteriaMet' | 'Suspended';

export function newCondition(
  type: JobConditionType,
  status: 'True' | 'False',
  { reason = '', message = '' }: Pick<JobCondition, 'reason' | 'message'>,
  now: Instant,
): JobCondition {
  const time = formatTime(now);
  return { type, status, reason, message, lastProbeTime: time, lastTransitionTime: time };
}

/** The condition of this type if it is true. */
function trueCondition({ status }: Job, type: JobConditionType): JobCondition | undefined {
  const condition = status?.conditions?.find((other) => other.type === type);
  return condition?.status === 'True' ? condition : undefined;
}
