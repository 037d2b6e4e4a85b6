import type { Pod } from '@gantry/objects';
import { isStaticPod } from './static-pod.ts';

/** Kubernetes' lowest priority of critical pods (SystemCriticalPriority). */
const CRITICAL_PRIORITY = 2_000_000_000;

/**
 * Whether a pod is critical: it is never evicted, and is admitted even under node pressure. This holds for critical priorities and for
 * static pods (kubelet's `IsCriticalPod`). Static pods are recognised by their uid, because users can write any annotation.
 */
export function isCriticalPod(pod: Pod): boolean {
  return isStaticPod(pod) || (pod.spec?.priority ?? 0) >= CRITICAL_PRIORITY;
}

/** Whether a pod has the priority class `system-node-critical` (kubelet's `IsNodeCriticalPod`). */
export function isNodeCriticalPod(pod: Pod): boolean {
  return isCriticalPod(pod) && pod.spec?.priorityClassName === 'system-node-critical';
}
