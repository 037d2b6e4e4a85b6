import { equalJson, type Pod } from '@gantry/objects';
import { isActive } from '../pods/pod-state.ts';
import { desiredReplicas, type PodSet } from './pod-set.ts';

/** Smaller sets are reconciled at every change. */
const SMALL_SET = 100;
const MS_PER_POD = 0.1;
const MAX_MS = 1000;

/**
 * How long a change of a pod may wait until its set is reconciled, in milliseconds. A reconcile looks at all pods of the set, and
 * while many become ready or go, each change would cause one and a write of the status: large sets collect changes, so
 * that the work stays in proportion to the pods. A pod that must be replaced, released or adopted does not wait.
 */
export function collectingMs(pod: Pod | undefined, old: Pod | undefined, set: PodSet | undefined): number {
  if (set === undefined || isUrgent(pod, old)) return 0;
  const pods = Math.max(desiredReplicas(set), set.status?.replicas ?? 0, terminatingReplicas(set));
  return pods < SMALL_SET ? 0 : Math.min(pods * MS_PER_POD, MAX_MS);
}

function isUrgent(pod: Pod | undefined, old: Pod | undefined): boolean {
  if (old === undefined) return false;
  if (pod === undefined) return isActive(old);
  return isActive(old) !== isActive(pod) || !equalJson(pod.metadata.labels, old.metadata.labels);
}

function terminatingReplicas({ status }: PodSet): number {
  return status !== undefined && 'terminatingReplicas' in status ? (status.terminatingReplicas ?? 0) : 0;
}
