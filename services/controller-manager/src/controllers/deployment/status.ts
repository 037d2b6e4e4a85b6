import { formatTime, type Instant } from '@gantry/base';
import type { Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet } from '@gantry/objects';
import { desiredReplicas, rollingBounds, sum } from './replica-sets.ts';

/** Largest int32: a progress deadline that never passes. */
const NO_DEADLINE = 2147483647;

/** What a condition says, without its times. */
export interface ConditionValue {
  readonly type: 'Available' | 'Progressing' | 'ReplicaFailure';
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

export function hasProgressDeadline(deployment: Deployment): boolean {
  const seconds = deployment.spec?.progressDeadlineSeconds;
  return seconds !== undefined && seconds !== NO_DEADLINE;
}

export function conditionOf(
  conditions: readonly DeploymentCondition[] | undefined,
  type: string,
): DeploymentCondition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/**
 * The conditions with one set. The same status and reason change nothing; the same status keeps the time of the
 * transition; a changed condition goes to the end.
 */
export function setCondition(
  conditions: readonly DeploymentCondition[],
  value: ConditionValue,
  now: Instant,
): DeploymentCondition[] {
  const current = conditionOf(conditions, value.type);
  if (current?.status === value.status && current.reason === value.reason) return [...conditions];
  return [...conditions.filter((condition) => condition.type !== value.type), conditionAt(value, current, now)];
}

function conditionAt(
  value: ConditionValue,
  current: DeploymentCondition | undefined,
  now: Instant,
): DeploymentCondition {
  const stamp = formatTime(now);
  return {
    type: value.type,
    status: value.status,
    lastUpdateTime: stamp,
    lastTransitionTime: current?.status === value.status ? (current.lastTransitionTime ?? stamp) : stamp,
    reason: value.reason,
    message: value.message,
  };
}

/** Counts and the Available condition, from the sets' statuses; `conditions` are those to start from. */
export function countedStatus(
  deployment: Deployment,
  all: readonly ReplicaSet[],
  newSet: ReplicaSet | undefined,
  conditions: readonly DeploymentCondition[],
  now: Instant,
): DeploymentStatus {
  const replicas = sum(all, (set) => set.status?.replicas);
  const available = sum(all, (set) => set.status?.availableReplicas);
  const counts = {
    replicas,
    updatedReplicas: newSet?.status?.replicas ?? 0,
    readyReplicas: sum(all, (set) => set.status?.readyReplicas),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, replicas - available),
  };
  const enough = available >= desiredReplicas(deployment) - rollingBounds(deployment).maxUnavailable;
  const availability: ConditionValue = enough
    ? {
        type: 'Available',
        status: 'True',
        reason: 'MinimumReplicasAvailable',
        message: 'Deployment has minimum availability.',
      }
    : {
        type: 'Available',
        status: 'False',
        reason: 'MinimumReplicasUnavailable',
        message: 'Deployment does not have minimum availability.',
      };
  return {
    ...(deployment.metadata.generation === undefined ? {} : { observedGeneration: deployment.metadata.generation }),
    ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0)),
    terminatingReplicas: sum(all, (set) => set.status?.terminatingReplicas),
    conditions: setCondition(conditions, availability, now),
    ...(deployment.status?.collisionCount === undefined ? {} : { collisionCount: deployment.status.collisionCount }),
  };
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

/** The status of a rollout: counts, progress against the deadline, and failures of its sets. */
export function rolloutStatus(
  deployment: Deployment,
  all: readonly ReplicaSet[],
  newSet: ReplicaSet | undefined,
  conditions: readonly DeploymentCondition[],
  now: Instant,
): DeploymentStatus {
  const status = countedStatus(deployment, all, newSet, conditions, now);
  let out = status.conditions ?? [];
  const current = conditionOf(conditions, 'Progressing');
  if (!hasProgressDeadline(deployment)) out = out.filter((condition) => condition.type !== 'Progressing');
  else if (
    !((status.replicas ?? 0) === (status.updatedReplicas ?? 0) && current?.reason === 'NewReplicaSetAvailable')
  ) {
    out = withProgress(deployment, status, newSet, out, current, now);
  }
  const failure = failureOf(all, newSet);
  out =
    failure === undefined
      ? out.filter((condition) => condition.type !== 'ReplicaFailure')
      : setCondition(out, failure, now);
  return { ...status, conditions: out };
}

function withProgress(
  deployment: Deployment,
  status: DeploymentStatus,
  newSet: ReplicaSet | undefined,
  conditions: readonly DeploymentCondition[],
  current: DeploymentCondition | undefined,
  now: Instant,
): DeploymentCondition[] {
  const subject =
    newSet === undefined
      ? `Deployment "${deployment.metadata.name ?? ''}"`
      : `ReplicaSet "${newSet.metadata.name ?? ''}"`;
  if (isComplete(deployment, status)) {
    const value: ConditionValue = {
      type: 'Progressing',
      status: 'True',
      reason: 'NewReplicaSetAvailable',
      message: `${subject} has successfully progressed.`,
    };
    return setCondition(conditions, value, now);
  }
  if (madeProgress(deployment.status ?? {}, status)) {
    const value: ConditionValue = {
      type: 'Progressing',
      status: 'True',
      reason: 'ReplicaSetUpdated',
      message: `${subject} is progressing.`,
    };
    // Progress restarts the deadline, so the time of the update moves even where the reason stays.
    return [...conditions.filter((condition) => condition.type !== 'Progressing'), conditionAt(value, current, now)];
  }
  if (timedOut(deployment, current, now)) {
    const value: ConditionValue = {
      type: 'Progressing',
      status: 'False',
      reason: 'ProgressDeadlineExceeded',
      message: `${subject} has timed out progressing.`,
    };
    return setCondition(conditions, value, now);
  }
  return [...conditions];
}

function madeProgress(old: DeploymentStatus, status: DeploymentStatus): boolean {
  const oldSets = (s: DeploymentStatus) => (s.replicas ?? 0) - (s.updatedReplicas ?? 0);
  return (
    (status.updatedReplicas ?? 0) > (old.updatedReplicas ?? 0) ||
    oldSets(status) < oldSets(old) ||
    (status.readyReplicas ?? 0) > (old.readyReplicas ?? 0) ||
    (status.availableReplicas ?? 0) > (old.availableReplicas ?? 0)
  );
}

/** When the progress deadline passes, if it runs. Unix milliseconds. */
export function deadlineOf(deployment: Deployment, progressing: DeploymentCondition | undefined): Instant | undefined {
  if (!hasProgressDeadline(deployment) || progressing === undefined) return undefined;
  if (progressing.reason === 'NewReplicaSetAvailable' || progressing.reason === 'ProgressDeadlineExceeded')
    return undefined;
  if (progressing.status !== 'True' && progressing.reason !== 'DeploymentResumed') return undefined;
  const since = progressing.lastUpdateTime ?? progressing.lastTransitionTime;
  return since === undefined ? undefined : Date.parse(since) + (deployment.spec?.progressDeadlineSeconds ?? 0) * 1000;
}

function timedOut(deployment: Deployment, progressing: DeploymentCondition | undefined, now: Instant): boolean {
  if (progressing?.reason === 'ProgressDeadlineExceeded') return true;
  const deadline = deadlineOf(deployment, progressing);
  return deadline !== undefined && deadline < now;
}

/** A failure of the new set, or else of any other. */
function failureOf(all: readonly ReplicaSet[], newSet: ReplicaSet | undefined): ConditionValue | undefined {
  const sets = newSet === undefined ? all : [newSet, ...all];
  for (const set of sets) {
    const failure = set.status?.conditions?.find((condition) => condition.type === 'ReplicaFailure');
    if (failure !== undefined) {
      const status = failure.status === 'True' ? 'True' : 'False';
      return { type: 'ReplicaFailure', status, reason: failure.reason ?? '', message: failure.message ?? '' };
    }
  }
  return undefined;
}
