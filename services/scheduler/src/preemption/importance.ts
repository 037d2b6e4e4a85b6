import type { PodInfo } from '../framework/pod-info.ts';
import { isMarkedForPreemption } from './preempted.ts';

/** When a pod was started; one that was not, now. */
export function startOf({ pod }: PodInfo): number {
  const started = Date.parse(pod.status?.startTime ?? '');
  return Number.isNaN(started) ? Number.POSITIVE_INFINITY : started;
}

/**
 * Orders pods as Kubernetes does, the most important first: by priority, and among equals the one that was started first. Further
 * equals are in the same order each time, and those that are marked for preemption come last, so that a preemption that was broken off
 * goes on with the same pods.
 */
export function byImportance(a: PodInfo, b: PodInfo): number {
  if (a.priority !== b.priority) return b.priority - a.priority;
  const [start, otherStart] = [startOf(a), startOf(b)];
  if (start !== otherStart) return start < otherStart ? -1 : 1;
  const marked = Number(isMarkedForPreemption(a.pod)) - Number(isMarkedForPreemption(b.pod));
  if (marked !== 0) return marked;
  return a.key < b.key ? -1 : 1;
}
