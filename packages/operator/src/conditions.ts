import { formatTime, type Instant } from '@gantry/base';
import type { Condition } from '@gantry/objects';

/** What a condition says, without the times that `withCondition` fills in. */
export interface ConditionChange {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** In PascalCase, for programs. */
  readonly reason: string;
  /** For people. */
  readonly message: string;
  /** `metadata.generation` of the object that was decided from. */
  readonly observedGeneration?: number;
}

/**
 * The conditions with one of them changed or added. `lastTransitionTime` changes only with the status, so the same change at a later time gives
 * an equal list.
 *
 * @example
 * ```ts
 * const ready = { type: 'Ready', status: 'True', reason: 'AllRunning', message: '3 of 3 run' } as const;
 * const status = { conditions: withCondition(object.status?.conditions, ready, now) };
 * ```
 */
export function withCondition(
  conditions: readonly Condition[] | undefined,
  change: ConditionChange,
  now: Instant,
): Condition[] {
  const known = conditions?.find(({ type }) => type === change.type);
  const lastTransitionTime = known?.status === change.status ? known.lastTransitionTime : formatTime(now);
  const changed: Condition = { ...change, lastTransitionTime };
  if (known === undefined) return [...(conditions ?? []), changed];
  return (conditions ?? []).map((condition) => (condition === known ? changed : condition));
}
