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

/** Whether only the new template runs, with all pods available. */
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
 * The conditions with the rollout's progress: complete, progressing since the last status, past its deadline, or unchanged. `status` is the
 * new status with the initial conditions; `before` is the condition in the stored status.
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
    // The condition may be about the end of an earlier set's rollout, if the status in between was lost.
    const isLeft = before?.reason === end.reason && before.message !== end.message;
    return (isLeft ? refreshCondition : setCondition)(conditions, end, now);
  }
  if (madeProgress(deployment.status, status)) {
    // Progress restarts the deadline, so the update time changes even if the reason is the same.
    return refreshCondition(conditions, value('True', 'ReplicaSetUpdated', 'is progressing'), now);
  }
  if (timedOut(deployment, before, now)) {
    return setCondition(conditions, value('False', 'ProgressDeadlineExceeded', 'has timed out progressing'), now);
  }
  return conditions;
}

/** Whether there are more updated, ready or available pods, or fewer old ones. */
function madeProgress(old: DeploymentStatus = {}, status: DeploymentStatus): boolean {
  const oldPods = (s: DeploymentStatus) => (s.replicas ?? 0) - (s.updatedReplicas ?? 0);
  return (
    (status.updatedReplicas ?? 0) > (old.updatedReplicas ?? 0) ||
    oldPods(status) < oldPods(old) ||
    (status.readyReplicas ?? 0) > (old.readyReplicas ?? 0) ||
    (status.availableReplicas ?? 0) > (old.availableReplicas ?? 0)
  );
}

/** When the progress deadline passes, in Unix milliseconds. Undefined while paused, after completion, or after it has passed. */
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
