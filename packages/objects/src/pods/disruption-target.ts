import { formatTime, type Instant } from '@gantry/base';
import type { Pod, PodCondition } from '../generated/types.ts';

/** The condition that says why a pod is deleted. Where it was to be deleted already, for another reason, the time is that of the first. */
export function disruptionTarget(
  { metadata, status }: Pod,
  reason: string,
  message: string,
  now: Instant,
): PodCondition {
  const { generation } = metadata;
  const before = status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  const since = before?.status === 'True' ? before.lastTransitionTime : undefined;
  return {
    type: 'DisruptionTarget',
    status: 'True',
    reason,
    message,
    lastTransitionTime: since ?? formatTime(now),
    observedGeneration: generation,
  };
}
