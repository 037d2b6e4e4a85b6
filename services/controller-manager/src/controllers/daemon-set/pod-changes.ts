import { type DaemonSet, equalJson, type Pod } from '@gantry/objects';
import { collectingTimeMs } from '../pods/collecting-time.ts';
import { changesCounts, isActive } from '../pods/pod-state.ts';
import { targetNode } from './placement.ts';

/** Whether an update of a pod changes what its set counts or repairs. */
export function concernsSet(pod: Pod, old: Pod): boolean {
  return changesCounts(pod, old) || targetNode(pod) !== targetNode(old);
}

/**
 * How long a change of a pod may wait until its set is reconciled, in milliseconds. A node that needs a new pod, and a pod that is
 * released or adopted, does not wait.
 */
export function collectingMs(pod: Pod | undefined, old: Pod | undefined, set: DaemonSet | undefined): number {
  if (set === undefined || pod === undefined) return 0;
  if (old !== undefined && (isActive(old) !== isActive(pod) || !equalJson(pod.metadata.labels, old.metadata.labels)))
    return 0;
  const { desiredNumberScheduled = 0, currentNumberScheduled = 0 } = set.status ?? {};
  return collectingTimeMs(Math.max(desiredNumberScheduled, currentNumberScheduled));
}
