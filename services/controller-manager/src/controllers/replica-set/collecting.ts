import { equalJson, type Pod } from '@gantry/objects';
import { collectingTimeMs } from '../pods/collecting-time.ts';
import { isActive } from '../pods/pod-state.ts';
import { desiredReplicas, type PodSet } from './pod-set.ts';

/**
 * How long a change of a pod may wait until its set is reconciled, in milliseconds. A pod that must be replaced, released or
 * adopted does not wait.
 */
export function collectingMs(pod: Pod | undefined, old: Pod | undefined, set: PodSet | undefined): number {
  if (set === undefined || isUrgent(pod, old)) return 0;
  const pods = Math.max(desiredReplicas(set), set.status?.replicas ?? 0, terminatingReplicas(set));
  return collectingTimeMs(pods);
}

function isUrgent(pod: Pod | undefined, old: Pod | undefined): boolean {
  if (old === undefined) return false;
  if (pod === undefined) return isActive(old);
  return isActive(old) !== isActive(pod) || !equalJson(pod.metadata.labels, old.metadata.labels);
}

function terminatingReplicas({ status }: PodSet): number {
  return status !== undefined && 'terminatingReplicas' in status ? (status.terminatingReplicas ?? 0) : 0;
}
