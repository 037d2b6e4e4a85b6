import type { Instant } from '@gantry/base';
import type { Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet } from '@gantry/objects';
import { conditionOf, type ConditionValue, refreshCondition, setCondition } from './conditions.ts';
import { desiredReplicas } from './replica-sets.ts';

/** Largest int32: a progress deadline that never passes. */
const NO_DEADLINE = 2147483647;

export function hasProgressDeadline(deployment: Deployment): boolean {
  const seconds = deployment.spec?.progressDeadlineSeconds;
  return seconds !== undefined && seconds !== NO_DEADLINE;
}

/** Whether the new template runs everywhere and nothing else does. */
export function isComplete(deployment: Deployment, status: DeploymentStatus): boolean {
  const desired = desiredReplicas(deployment);
  return (
    (status.updatedReplicas ?? 0) === desired &&
    (status.replicas ?? 0) === desired &&
    (status.availableReplicas ?? 0) === desired &&
    (status.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  );
}

/**
 * The conditions of a rollout with its progress: complete, progressing since the last status, past its deadline, or as they were.
 * `status` is the new status with the conditions to start from, `before` the condition of the present status.
 */
export function withProgress(
  deployment: Deployment,
  status: DeploymentStatus,
  newSet: ReplicaSet | undefined,
  before: DeploymentCondition | undefined,
  now: Instant,
): readonly DeploymentCondition[] {
  const conditions = status.conditions ?? [];
  const subject =
    newSet === undefined
      ? `Deployment "${deployment.metadata.name ?? ''}"`
      : `ReplicaSet "${newSet.metadata.name ?? ''}"`;
  const value = (result: 'True' | 'False', reason: string, what: string): ConditionValue => ({
    type: 'Progressing',
    status: result,
    reason,
    message: `${subject} ${what}.`,
  });
  if (isComplete(deployment, status)) {
    const end = value('True', 'NewReplicaSetAvailable', 'has successfully progressed');
    // The end of another set's rollout may be left when the status between the two was lost.
    const isLeft = before?.reason === end.reason && before.message !== end.message;
    return (isLeft ? refreshCondition : setCondition)(conditions, end, now);
  }
  if (madeProgress(deployment.status, status)) {
    // Progress restarts the deadline, so the time of the update moves even where the reason stays.
    return refreshCondition(conditions, value('True', 'ReplicaSetUpdated', 'is progressing'), now);
  }
  if (timedOut(deployment, before, now)) {
    return setCondition(conditions, value('False', 'ProgressDeadlineExceeded', 'has timed out progressing'), now);
  }
  return conditions;
}

/** More updated, ready or available pods, or fewer old ones. */
function madeProgress(old: DeploymentStatus = {}, status: DeploymentStatus): boolean {
  const oldPods = (s: DeploymentStatus) => (s.replicas ?? 0) - (s.updatedReplicas ?? 0);
  return (
    (status.updatedReplicas ?? 0) > (old.updatedReplicas ?? 0) ||
    oldPods(status) < oldPods(old) ||
    (status.readyReplicas ?? 0) > (old.readyReplicas ?? 0) ||
    (status.availableReplicas ?? 0) > (old.availableReplicas ?? 0)
  );
}

/** When the progress deadline passes, if it runs: not while paused, after completion or when it has passed. Unix milliseconds. */
export function deadlineOf(
  deployment: Deployment,
  conditions: readonly DeploymentCondition[] | undefined,
): Instant | undefined {
  const progressing = conditionOf(conditions, 'Progressing');
  if (!hasProgressDeadline(deployment) || progressing === undefined || deployment.spec?.paused === true)
    return undefined;
  if (progressing.reason === 'NewReplicaSetAvailable' || progressing.reason === 'ProgressDeadlineExceeded')
    return undefined;
  const since = progressing.lastUpdateTime ?? progressing.lastTransitionTime;
  return since === undefined ? undefined : Date.parse(since) + (deployment.spec?.progressDeadlineSeconds ?? 0) * 1000;
}

function timedOut(deployment: Deployment, progressing: DeploymentCondition | undefined, now: Instant): boolean {
  if (progressing?.reason === 'ProgressDeadlineExceeded') return true;
  const deadline = deadlineOf(deployment, progressing === undefined ? [] : [progressing]);
  return deadline !== undefined && deadline < now;
}
