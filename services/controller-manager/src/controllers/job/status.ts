import { formatTime, type Instant } from '@gantry/base';
import type { JobCondition, JobStatus, Pod, PodFailurePolicyRule } from '@gantry/objects';
import { isReady } from '../../libraries/pods/pod-state.ts';
import { isComplete, newCondition } from './finish.ts';
import { countIndexes, formatIntervals } from './intervals.ts';
import { isSuspended } from './job-rules.ts';
import type { JobView } from './observed-job.ts';
import { type Counters, planTracking } from './tracking.ts';

/** The result of the pod changes. */
export interface PodOutcome {
  readonly created: number;
  readonly removed: readonly Pod[];
}

/** An Event about the Job. */
export interface JobReport {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** The statuses before and after the pods in `finalized` lose their finalizers, and the Events after each write. */
interface PlannedStatus {
  readonly first: JobStatus;
  readonly firstReports: readonly JobReport[];
  readonly finalized: readonly Pod[];
  /** The actions of the podFailurePolicy rules that decided on the failed ones. */
  readonly handled: readonly PodFailurePolicyRule['action'][];
  readonly second: JobStatus;
  readonly secondReports: readonly JobReport[];
}

const COMPLETED = { reason: 'CompletionsReached', message: 'Reached expected number of succeeded pods' };

export function planJobStatus(
  view: JobView,
  end: JobCondition | undefined,
  outcome: PodOutcome,
  now: Instant,
): PlannedStatus {
  const active = view.active.length + outcome.created - outcome.removed.length;
  // A Job has not ended while its pods may run.
  let ending = end !== undefined && active > 0 ? undefined : end;
  let conditions: readonly JobCondition[] = view.job.status?.conditions ?? [];
  let { startTime } = view;
  const firstReports: JobReport[] = [];
  if (end === undefined && isComplete(view, active))
    ending = newCondition('SuccessCriteriaMet', 'True', COMPLETED, now);
  else if (end === undefined && view.job.metadata.deletionTimestamp === undefined) {
    const next = withCondition(conditions, suspension(view, now));
    if (next !== conditions) {
      startTime = isSuspended(view.job) ? undefined : formatTime(now);
      firstReports.push(isSuspended(view.job) ? SUSPENDED : RESUMED);
    }
    conditions = next;
  }
  const tracking = planTracking(view, ending);
  // The reason is stored before pods lose their finalizers: later reconciles may not find it again.
  if (ending !== undefined && ending.type !== 'Failed') conditions = withCondition(conditions, ending);
  const terminating = view.terminating + outcome.removed.length;
  const ready = view.ready - outcome.removed.filter(isReady).length;
  const statusOf = (counters: Counters, list: readonly JobCondition[], completionTime?: string) =>
    composeStatus(view, { active, ready, terminating, startTime, counters, conditions: list, completionTime });
  const first = statusOf(tracking.recorded, conditions);
  const { uncounted } = tracking.counted;
  const isCounted = !tracking.isFull && uncounted.succeeded.length + uncounted.failed.length === 0;
  if (ending === undefined || !isCounted || terminating > 0) {
    const second = statusOf(tracking.counted, conditions);
    const { finalized, handled } = tracking;
    return { first, firstReports, finalized, handled, second, secondReports: [] };
  }
  const final = finalCondition(ending, now);
  const completionTime = final.type === 'Complete' ? final.lastTransitionTime : undefined;
  const second = statusOf(tracking.counted, withCondition(conditions, final), completionTime);
  return {
    first,
    firstReports,
    finalized: tracking.finalized,
    handled: tracking.handled,
    second,
    secondReports: finishReports(view, second, final),
  };
}

const SUSPENDED: JobReport = { type: 'Normal', reason: 'Suspended', message: 'Job suspended' };
const RESUMED: JobReport = { type: 'Normal', reason: 'Resumed', message: 'Job resumed' };

function suspension({ job }: JobView, now: Instant): JobCondition {
  return isSuspended(job)
    ? newCondition('Suspended', 'True', { reason: 'JobSuspended', message: SUSPENDED.message }, now)
    : newCondition('Suspended', 'False', { reason: 'JobResumed', message: RESUMED.message }, now);
}

function finalCondition(ending: JobCondition, now: Instant): JobCondition {
  return newCondition(ending.type === 'SuccessCriteriaMet' ? 'Complete' : 'Failed', 'True', ending, now);
}

function finishReports({ job }: JobView, status: JobStatus, final: JobCondition): JobReport[] {
  const { type, reason = '', message = '' } = final;
  if (type === 'Failed') return [{ type: 'Warning', reason, message }];
  const surplus = (status.succeeded ?? 0) > (job.spec?.completions ?? Infinity);
  const warning: JobReport = {
    type: 'Warning',
    reason: 'TooManySucceededPods',
    message: 'Too many succeeded pods running after completion count reached',
  };
  return [...(surplus ? [warning] : []), { type: 'Normal', reason: 'Completed', message: 'Job completed' }];
}

interface StatusParts {
  readonly active: number;
  readonly ready: number;
  readonly terminating: number;
  readonly startTime: string | undefined;
  readonly counters: Counters;
  readonly conditions: readonly JobCondition[];
  readonly completionTime: string | undefined;
}

/** Zero counts are omitted as in Kubernetes. */
function composeStatus({ indexes }: JobView, parts: StatusParts): JobStatus {
  const { active, ready, terminating, startTime, conditions, completionTime } = parts;
  const { failed, uncounted } = parts.counters;
  const succeeded = indexes === undefined ? parts.counters.succeeded : countIndexes(indexes.succeeded);
  const completed = formatIntervals(indexes?.succeeded ?? []);
  return {
    active: active || undefined,
    completedIndexes: completed || undefined,
    completionTime,
    ...(conditions.length === 0 ? {} : { conditions: [...conditions] }),
    failed: failed || undefined,
    ...(indexes?.failed === undefined ? {} : { failedIndexes: formatIntervals(indexes.failed) }),
    ready,
    startTime,
    succeeded: succeeded || undefined,
    terminating,
    uncountedTerminatedPods: {
      ...(uncounted.failed.length === 0 ? {} : { failed: [...uncounted.failed] }),
      ...(uncounted.succeeded.length === 0 ? {} : { succeeded: [...uncounted.succeeded] }),
    },
  };
}

/**
 * The conditions with this one, which replaces one of its type that differs in more than times. A false condition is not added if there is
 * none of its type. Returns the same list if nothing changes.
 */
function withCondition(list: readonly JobCondition[], next: JobCondition): readonly JobCondition[] {
  const old = list.find(({ type }) => type === next.type);
  if (old === undefined) return next.status === 'False' ? list : [...list, next];
  if (old.status === next.status && old.reason === next.reason && old.message === next.message) return list;
  return list.map((condition) => (condition === old ? next : condition));
}
