import type { Pod } from '@gantry/objects';
import { isStaticPod } from './static-pod.ts';

/** Pods of this priority and above are those that a cluster cannot do without. */
const CRITICAL_PRIORITY = 2_000_000_000;

/**
 * Whether a pod is never evicted, and is taken under pressure too: of a critical priority, or from a file of the node (kubelet's
 * `IsCriticalPod`). A user can write annotations like those of such pods, but not its uid.
 */
export function isCriticalPod(pod: Pod): boolean {
  return isStaticPod(pod) || (pod.spec?.priority ?? 0) >= CRITICAL_PRIORITY;
}

/** Whether a pod is of the class for what no node works without (kubelet's `IsNodeCriticalPod`). */
export function isNodeCriticalPod(pod: Pod): boolean {
  return isCriticalPod(pod) && pod.spec?.priorityClassName === 'system-node-critical';
}
