import type { Instant } from '@gantry/base';
import type {
  Deployment,
  DeploymentCondition,
  DeploymentStatus,
  ReplicaSet,
  ReplicaSetCondition,
} from '@gantry/objects';
import { conditionOf, type ConditionValue, putCondition, setCondition, withoutCondition } from './conditions.ts';
import { hasProgressDeadline, withProgress } from './progress.ts';
import { desiredReplicas, rollingBounds, sum } from './replica-sets.ts';

const AVAILABLE: ConditionValue = {
  type: 'Available',
  status: 'True',
  reason: 'MinimumReplicasAvailable',
  message: 'Deployment has minimum availability.',
};
const UNAVAILABLE: ConditionValue = {
  type: 'Available',
  status: 'False',
  reason: 'MinimumReplicasUnavailable',
  message: 'Deployment does not have minimum availability.',
};

/** Input of the status. */
export interface Rollout {
  readonly deployment: Deployment;
  readonly all: readonly ReplicaSet[];
  readonly newSet: ReplicaSet | undefined;
  /** The initial conditions. */
  readonly conditions: readonly DeploymentCondition[];
  readonly now: Instant;
}

/** Counts and the Available condition, from the sets' statuses. */
export function countedStatus({ deployment, all, newSet, conditions, now }: Rollout): DeploymentStatus {
  const available = sum(all, (set) => set.status?.availableReplicas);
  const counts = {
    replicas: sum(all, (set) => set.status?.replicas),
    updatedReplicas: newSet?.status?.replicas ?? 0,
    readyReplicas: sum(all, (set) => set.status?.readyReplicas),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, sum(all, (set) => set.spec?.replicas) - available),
  };
  const terminating = terminatingReplicas(all);
  const enough = available >= desiredReplicas(deployment) - rollingBounds(deployment).maxUnavailable;
  return {
    observedGeneration: deployment.metadata.generation,
    ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0)),
    ...(terminating === undefined ? {} : { terminatingReplicas: terminating }),
    conditions: setCondition(conditions, enough ? AVAILABLE : UNAVAILABLE, now),
    collisionCount: deployment.status?.collisionCount,
  };
}

/** Undefined if a set has a status without this count. A set without a status has no pods yet. */
function terminatingReplicas(all: readonly ReplicaSet[]): number | undefined {
  const known = all.filter(({ status }) => status?.terminatingReplicas !== undefined);
  const isUncounted = ({ status }: ReplicaSet) =>
    status?.terminatingReplicas === undefined && (status?.observedGeneration ?? 0) !== 0;
  return all.some(isUncounted) ? undefined : sum(known, (set) => set.status?.terminatingReplicas);
}

/** The status of a rollout: counts, progress against the deadline, and failures of its sets. */
export function rolloutStatus(rollout: Rollout): DeploymentStatus {
  const { deployment, all, newSet, conditions, now } = rollout;
  const status = countedStatus(rollout);
  let out: readonly DeploymentCondition[] = status.conditions ?? [];
  const current = conditionOf(conditions, 'Progressing');
  const isResync = status.replicas === status.updatedReplicas && isAboutEnd(current, newSet);
  if (!hasProgressDeadline(deployment)) out = withoutCondition(out, 'Progressing');
  else if (!isResync) out = withProgress(deployment, status, newSet, current, now);
  return { ...status, conditions: withFailure(out, failureOf(all, newSet)) };
}

/** Whether the condition is about the end of this set's rollout. One about an earlier set may remain if a crash lost its status. */
function isAboutEnd(progressing: DeploymentCondition | undefined, newSet: ReplicaSet | undefined): boolean {
  if (progressing?.reason !== 'NewReplicaSetAvailable') return false;
  return newSet === undefined || (progressing.message ?? '').includes(`"${newSet.metadata.name ?? ''}"`);
}

/** A failure of the new set, else of any other set. */
function failureOf(all: readonly ReplicaSet[], newSet: ReplicaSet | undefined): ReplicaSetCondition | undefined {
  const sets = newSet === undefined ? all : [newSet, ...all];
  return sets.flatMap((set) => set.status?.conditions ?? []).find(({ type }) => type === 'ReplicaFailure');
}

/** The conditions with a set's failure, with the time at which the set reported it. */
function withFailure(
  conditions: readonly DeploymentCondition[],
  failure: ReplicaSetCondition | undefined,
): DeploymentCondition[] {
  if (failure === undefined) return withoutCondition(conditions, 'ReplicaFailure');
  const current = conditionOf(conditions, 'ReplicaFailure');
  if (current?.status === failure.status && current.reason === failure.reason) return [...conditions];
  const { lastTransitionTime } = failure;
  const times = lastTransitionTime === undefined ? {} : { lastTransitionTime, lastUpdateTime: lastTransitionTime };
  return putCondition(conditions, { ...failure, type: 'ReplicaFailure', ...times });
}
