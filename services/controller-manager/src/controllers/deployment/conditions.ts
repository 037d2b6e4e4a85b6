import { formatTime, type Instant } from '@gantry/base';
import type { DeploymentCondition } from '@gantry/objects';

/** What a condition says, without its times. */
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
  return refreshCondition(conditions, value, now);
}

/** As `setCondition`, but also the same status and reason are written anew, with the time of the update. */
export function refreshCondition(
  conditions: readonly DeploymentCondition[],
  value: ConditionValue,
  now: Instant,
): DeploymentCondition[] {
  const stamp = formatTime(now);
  return putCondition(conditions, { ...value, lastUpdateTime: stamp, lastTransitionTime: stamp });
}

/** Puts a condition with its times at the end; the time of the transition stays where the status does. */
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
