import type { Instant } from '@gantry/base';
import { hasEnded, type Pod } from '@gantry/objects';
import type { PodMemory } from './pod-memory.ts';
import type { PodGoal } from './pod-plan.ts';

/** What is to become of a pod; without an object it is deleted, and one that the node rejects or evicts ends. */
export function goalOf(
  pod: Pod | undefined,
  { rejection, eviction }: Pick<PodMemory, 'rejection' | 'eviction'>,
  now: Instant,
): PodGoal {
  if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return 'delete';
  if (hasEnded(pod) || rejection !== undefined || eviction !== undefined) return 'end';
  const deadline = activeDeadline(pod);
  return deadline !== undefined && now >= deadline ? 'end' : 'run';
}

/** When a pod with `activeDeadlineSeconds` has been active for too long. */
export function activeDeadline(pod: Pod): Instant | undefined {
  const seconds = pod.spec?.activeDeadlineSeconds;
  const start = pod.status?.startTime;
  return seconds === undefined || start === undefined ? undefined : Date.parse(start) + seconds * 1000;
}
