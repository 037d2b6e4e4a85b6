import { formatTime, type Instant } from '@gantry/base';
import type { Job, JobCondition } from '@gantry/objects';

export type JobConditionType = 'Complete' | 'Failed' | 'FailureTarget' | 'SuccessCriteriaMet' | 'Suspended';

export function newCondition(
  type: JobConditionType,
  status: 'True' | 'False',
  { reason = '', message = '' }: Pick<JobCondition, 'reason' | 'message'>,
  now: Instant,
): JobCondition {
  const time = formatTime(now);
  return { type, status, reason, message, lastProbeTime: time, lastTransitionTime: time };
}

/** The condition of this type if it is true. */
export function trueCondition({ status }: Job, type: JobConditionType): JobCondition | undefined {
  const condition = status?.conditions?.find((other) => other.type === type);
  return condition?.status === 'True' ? condition : undefined;
}

/**
 * The conditions with this one, which replaces one of its type that differs in more than times. A condition that is false is
 * not added where there is none of its type. Returns the same list when nothing changes.
 */
export function withCondition(list: readonly JobCondition[], next: JobCondition): readonly JobCondition[] {
  const old = list.find(({ type }) => type === next.type);
  if (old === undefined) return next.status === 'False' ? list : [...list, next];
  if (old.status === next.status && old.reason === next.reason && old.message === next.message) return list;
  return list.map((condition) => (condition === old ? next : condition));
}
