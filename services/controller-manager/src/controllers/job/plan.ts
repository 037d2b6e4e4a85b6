import type { Instant, Plan } from '@gantry/base';
import {
  controllerOf,
  equalJson,
  type Job,
  type JobCondition,
  type JobStatus,
  type Pod,
  type PodFailurePolicyRule,
} from '@gantry/objects';
import type { BackoffRecord } from './backoff.ts';
import { deadlineOf, findEnd } from './finish.ts';
import { hasFinalizer, isJobFinished, isManagedElsewhere } from './job-rules.ts';
import { type JobView, type ObservedJob, viewJob } from './observed-job.ts';
import { planPodChanges } from './pod-changes.ts';
import { type JobReport, planJobStatus, type PodOutcome } from './status.ts';

export type Action =
  | { readonly kind: 'adopt'; readonly pod: Pod }
  | { readonly kind: 'release'; readonly pod: Pod }
  /** A pod whose finalizer is removed first is not counted as failed. */
  | { readonly kind: 'deletePod'; readonly pod: Pod; readonly finalizer: 'keep' | 'remove' }
  | { readonly kind: 'createPod'; readonly pod: Pod }
  | StatusAction
  | { readonly kind: 'report'; readonly report: JobReport };

/** Actions that must be executed in order, each only after the previous one has succeeded. */
export type StatusAction =
  | { readonly kind: 'updateStatus'; readonly status: JobStatus }
  | { readonly kind: 'remember'; readonly backoff: BackoffRecord }
  /** `handled`: the actions of the podFailurePolicy rules that decided on these pods. */
  | {
      readonly kind: 'removeFinalizers';
      readonly pods: readonly Pod[];
      readonly handled: readonly PodFailurePolicyRule['action'][];
    }
  | { readonly kind: 'report'; readonly report: JobReport };

/**
 * Actions that move a Job's pods toward its spec and count ended pods. Executing them and planning again yields none. If creating or
 * deleting pods fails, the actions on the status are planned again with `planOutcome`.
 */
export function planJob(observed: ObservedJob, now: Instant): Plan<Action> {
  const { job } = observed;
  if (isManagedElsewhere(job) || isJobFinished(job)) return { actions: [] };
  const { completionMode = 'NonIndexed' } = job.spec ?? {};
  if (completionMode !== 'NonIndexed' && completionMode !== 'Indexed') return { actions: [UNKNOWN_MODE] };
  const view = viewJob(observed, now);
  const end = findEnd(view, now);
  const { remove, finalizer, create, createAt } = planPodChanges(view, end, now);
  const deadline = deadlineOf(view);
  return {
    actions: [
      ...view.adopted.map((pod): Action => ({ kind: 'adopt', pod })),
      ...view.released.map((pod): Action => ({ kind: 'release', pod })),
      ...remove.map((pod): Action => ({ kind: 'deletePod', pod, finalizer })),
      ...create.map((pod): Action => ({ kind: 'createPod', pod })),
      ...statusActions(view, end, { created: create.length, removed: remove }, now),
    ],
    requeueAt: end === undefined ? soonest(createAt, deadline) : undefined,
  };
}

/** Only the actions on the status, for when not all pods could be created or deleted. */
export function planOutcome(observed: ObservedJob, outcome: PodOutcome, now: Instant): readonly StatusAction[] {
  const view = viewJob(observed, now);
  return statusActions(view, findEnd(view, now), outcome, now);
}

/** Why a pod is created: a new one, or a replacement for a pod that has ended or is terminating. */
export type CreationReason = 'new' | 'recreate_terminating_or_failed' | 'recreate_failed';

/** Why pods of a Job are created now, as a value of Kubernetes' metric. */
export function creationReason(observed: ObservedJob, now: Instant): CreationReason {
  const { failed, terminating } = viewJob(observed, now);
  if (failed > 0 && observed.job.spec?.podReplacementPolicy === 'Failed') return 'recreate_failed';
  return failed > 0 || terminating > 0 ? 'recreate_terminating_or_failed' : 'new';
}

/** A pod whose Job has been deleted or has ended loses its tracking finalizer. */
export function planOrphan(pod: Pod, job: Job | undefined): Plan<Action> {
  const controller = controllerOf(pod);
  const isOfJob = controller?.kind === 'Job' && controller.apiVersion === 'batch/v1';
  if (!hasFinalizer(pod) || (controller !== undefined && !isOfJob)) return { actions: [] };
  if (controller !== undefined && job !== undefined && controller.uid === job.metadata.uid) {
    if (isManagedElsewhere(job) || !isJobFinished(job)) return { actions: [] };
  }
  return { actions: [{ kind: 'removeFinalizers', pods: [pod], handled: [] }] };
}

const UNKNOWN_MODE: Action = {
  kind: 'report',
  report: {
    type: 'Warning',
    reason: 'UnknownCompletionMode',
    message: 'Skipped Job sync because completion mode is unknown',
  },
};

function statusActions(
  view: JobView,
  end: JobCondition | undefined,
  outcome: PodOutcome,
  now: Instant,
): StatusAction[] {
  const planned = planJobStatus(view, end, outcome, now);
  const { first, firstReports, finalized, handled, second, secondReports } = planned;
  const actions: StatusAction[] = [];
  if (!equalJson(first, view.job.status ?? {})) {
    actions.push({ kind: 'updateStatus', status: first }, { kind: 'remember', backoff: view.backoff });
  }
  for (const report of firstReports) actions.push({ kind: 'report', report });
  if (finalized.length > 0) actions.push({ kind: 'removeFinalizers', pods: finalized, handled });
  if (!equalJson(second, first)) actions.push({ kind: 'updateStatus', status: second });
  for (const report of secondReports) actions.push({ kind: 'report', report });
  return actions;
}

function soonest(...times: readonly (Instant | undefined)[]): Instant | undefined {
  const known = times.filter((at) => at !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
