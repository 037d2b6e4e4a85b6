import type { Pod } from '@gantry/objects';
import { isStaticPod } from './static-pod.ts';

/** Pods of this priority and above are those that a cluster cannot do without. */
const CRITICAL_PRIORITY = 2_000_000_000;

/**
 * Whether a pod is never evicted, and is taken under pressure too: of a critical priority, or static (kubelet's `IsCriticalPod`).
 * What a client of the API writes into annotations does not make it static.
 */
export function isCriticalPod(pod: Pod): boolean {
  return isStaticPod(pod) || (pod.spec?.priority ?? 0) >= CRITICAL_PRIORITY;
}
