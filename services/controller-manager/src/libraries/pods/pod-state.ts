import type { Instant } from '@gantry/base';
import { equalJson, hasEnded, type Pod, type PodCondition } from '@gantry/objects';

/** Smaller sets are reconciled at every change. */
const SMALL_SET = 100;
const MS_PER_POD = 0.5;
const MAX_MS = 1000;

/**
 * Milliseconds for which pod changes of an owner may be collected. A reconcile processes all its pods, and while many become ready or are
 * deleted, each change would cause a reconcile and a status write. Large sets collect changes so that the work stays proportional to the
 * number of pods.
 */
export function collectingTimeMs(pods: number): number {
  return pods < SMALL_SET ? 0 : Math.min(pods * MS_PER_POD, MAX_MS);
}

/** Whether a pod is neither finished nor being deleted. */
export function isActive(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp === undefined && !hasEnded(pod);
}

/** Whether a pod is being deleted and may still run. */
export function isTerminating(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined && !hasEnded(pod);
}

export function isReady(pod: Pod): boolean {
  return readyCondition(pod) !== undefined;
}

/** Since when the pod is ready, in Unix milliseconds; 0 if its condition has no time, undefined if it is not ready. */
export function readySince(pod: Pod): Instant | undefined {
  const ready = readyCondition(pod);
  if (ready === undefined) return undefined;
  return ready.lastTransitionTime === undefined || ready.lastTransitionTime === null
    ? 0
    : Date.parse(ready.lastTransitionTime);
}

/**
 * When the pod has been ready for `minReadySeconds`, now or in the future, in Unix milliseconds. Undefined if it is not ready, or if a
 * minimum is required and its ready time is unknown.
 */
export function availableAt(pod: Pod, minReadySeconds: number): Instant | undefined {
  const since = readySince(pod);
  if (since === undefined || minReadySeconds <= 0) return since;
  return since === 0 ? undefined : since + minReadySeconds * 1000;
}

export function isAvailable(pod: Pod, minReadySeconds: number, now: Instant): boolean {
  if (minReadySeconds <= 0) return isReady(pod);
  return (availableAt(pod, minReadySeconds) ?? Infinity) <= now;
}

/** When the next of these ready pods becomes available, in Unix milliseconds; undefined if none will. */
export function nextAvailability(pods: readonly Pod[], minReadySeconds: number, now: Instant): Instant | undefined {
  if (minReadySeconds <= 0) return undefined;
  let next: Instant | undefined;
  for (const pod of pods) {
    const at = availableAt(pod, minReadySeconds);
    if (at !== undefined && at > now && (next === undefined || at < next)) next = at;
  }
  return next;
}

function readyCondition(pod: Pod): PodCondition | undefined {
  return pod.status?.conditions?.find(({ type, status }) => type === 'Ready' && status === 'True');
}

/**
 * Whether an update of a pod affects an owner that counts active, ready and available pods: by its end, readiness, deletion or labels.
 * Node, addresses and containers do not.
 */
export function changesCounts(pod: Pod, old: Pod): boolean {
  return (
    hasEnded(pod) !== hasEnded(old) ||
    readySince(pod) !== readySince(old) ||
    pod.metadata.deletionTimestamp !== old.metadata.deletionTimestamp ||
    !equalJson(pod.metadata.labels, old.metadata.labels)
  );
}
