import type { Pod } from '@gantry/objects';

/** Pods of this priority and above are those that a cluster cannot do without. */
const CRITICAL_PRIORITY = 2_000_000_000;
const SOURCE = 'kubernetes.io/config.source';
const MIRROR = 'kubernetes.io/config.mirror';

/** Whether a pod is never evicted, and is taken under pressure too: of a critical priority, or static (kubelet's `IsCriticalPod`). */
export function isCriticalPod({ metadata, spec }: Pod): boolean {
  const { [SOURCE]: source = 'api', [MIRROR]: mirror } = metadata.annotations ?? {};
  return source !== 'api' || mirror !== undefined || (spec?.priority ?? 0) >= CRITICAL_PRIORITY;
}
