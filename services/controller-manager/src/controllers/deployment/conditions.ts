import { formatTime, type Instant } from '@gantry/base';
import type { DeploymentCondition } from '@gantry/objects';

/** A condition without its times. */
export interface ConditionValue {
  readonly type: 'Available' | 'Progressing' | 'ReplicaFailure';
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

export function conditionOf(
  conditions: readonly DeploymentCondition[] | undefined,
  type: ConditionValue['type'],
): DeploymentCondition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export function withoutCondition(
  conditions: readonly DeploymentCondition[],
  type: ConditionValue['type'],
): DeploymentCondition[] {
  return conditions.filter((condition) => condition.type !== type);
}

/**
 * The conditions with one condition set. If status and reason are equal, nothing changes. If only the status is equal, the transition time
 * is kept. A changed condition moves to the end.
 */
export function setCondition(
  conditions: readonly DeploymentCondition[],
  value: ConditionValue,
  now: Instant,
): DeploymentCondition[] {
  const current = conditionOf(conditions, value.type);
  if (current?.status === value.status && current.reason === value.reason) return [...conditions];
  return refreshCondition(conditions, value, now);
}

/** As `setCondition`, but a condition with equal status and reason is also written, with a new update time. */
export function refreshCondition(
  conditions: readonly DeploymentCondition[],
  value: ConditionValue,
  now: Instant,
): DeploymentCondition[] {
  const stamp = formatTime(now);
  return putCondition(conditions, { ...value, lastUpdateTime: stamp, lastTransitionTime: stamp });
}

/** Moves a condition with its times to the end. The transition time is kept if the status is equal. */
export function putCondition(
  conditions: readonly DeploymentCondition[],
  condition: DeploymentCondition & { readonly type: ConditionValue['type'] },
): DeploymentCondition[] {
  const { type, status, lastUpdateTime, lastTransitionTime, reason, message } = condition;
  const current = conditionOf(conditions, type);
  const since = current?.status === status ? (current.lastTransitionTime ?? lastTransitionTime) : lastTransitionTime;
  return [
    ...withoutCondition(conditions, type),
    { type, status, lastUpdateTime, lastTransitionTime: since, reason, message },
  ];
}
