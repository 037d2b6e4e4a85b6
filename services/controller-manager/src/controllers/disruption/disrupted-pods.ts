import type { Instant } from '@gantry/base';
import type { Pod, PodDisruptionBudget } from '@gantry/objects';

/** How long a pod that an eviction announced may take to be marked for deletion, as in Kubernetes. */
const DELETION_TIMEOUT_MS = 120_000;

export interface DisruptedPods {
  /** Announced, and expected to be deleted soon. */
  readonly kept: Readonly<Record<string, string>>;
  /** Announced, and not deleted in time. */
  readonly late: readonly Pod[];
  /** When the next announcement ends. */
  readonly nextExpiry: Instant | undefined;
}

/** Sorts the evictions that a budget's status announces by what became of their pods; those of deleted pods are dropped. */
export function disruptedPods({ status }: PodDisruptionBudget, pods: readonly Pod[], now: Instant): DisruptedPods {
  const kept: Record<string, string> = {};
  const late: Pod[] = [];
  let nextExpiry: Instant | undefined;
  for (const pod of pods) {
    const { name = '', deletionTimestamp } = pod.metadata;
    const announced = status?.disruptedPods?.[name];
    if (announced === undefined || deletionTimestamp !== undefined) continue;
    const expiry = Date.parse(announced) + DELETION_TIMEOUT_MS;
    if (expiry <= now) late.push(pod);
    else {
      kept[name] = announced;
      nextExpiry = Math.min(nextExpiry ?? expiry, expiry);
    }
  }
  return { kept, late, nextExpiry };
}
