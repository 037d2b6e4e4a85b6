import { formatTime, type Instant } from '@gantry/base';
import type { HorizontalPodAutoscalerCondition as Condition } from '@gantry/objects';

export type ConditionType = 'AbleToScale' | 'ScalingActive' | 'ScalingLimited' | 'ScaledToZero';

/** What is said of one condition. */
export interface Statement {
  readonly type: ConditionType;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

/** The conditions with this one; its time changes with its status alone. */
export function withCondition(
  conditions: readonly Condition[],
  { type, status, reason, message }: Statement,
  now: Instant,
): readonly Condition[] {
  const old = conditions.find((one) => one.type === type);
  const lastTransitionTime =
    old?.status === status && old.lastTransitionTime !== undefined ? old.lastTransitionTime : formatTime(now);
  const condition = { type, status, lastTransitionTime, reason, message };
  return old === undefined ? [...conditions, condition] : conditions.map((one) => (one === old ? condition : one));
}

export function ableToScale(reason: string, message: string, status: Statement['status'] = 'True'): Statement {
  return { type: 'AbleToScale', status, reason, message };
}

export function notActive(reason: string, message: string): Statement {
  return { type: 'ScalingActive', status: 'False', reason, message };
}
