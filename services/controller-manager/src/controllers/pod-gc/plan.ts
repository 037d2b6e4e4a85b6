import { formatTime, type Instant, type Plan } from '@gantry/base';
import type { Pod, PodStatus } from '@gantry/objects';
import { disruptionTarget } from '../taint-eviction/plan.ts';

/** What the plan looks at. `missingSince` is since when this pod has been seen without its node. */
export interface ObservedPod {
  readonly pod: Pod;
  readonly missingSince: Instant | undefined;
}

export type Action =
  | { readonly kind: 'markFailed'; readonly status: PodStatus }
  /** Without a grace period: no agent is left that could stop the pod. */
  | { readonly kind: 'delete'; readonly why: 'node-gone' | 'never-started' };

/**
 * A node that is deleted by mistake and registers again keeps its pods, and one whose pod is seen first is waited for: an
 * agent looks for its Node every few seconds, and as soon as it can. As in Kubernetes (`quarantineTime`).
 */
export const QUARANTINE_MS = 40_000;

/** Removes pods whose node is gone, and pods that were deleted before they got a node. */
export function planPodCollection({ pod, missingSince }: ObservedPod, now: Instant): Plan<Action> {
  if ((pod.spec?.nodeName ?? '') === '') {
    const isDeleted = pod.metadata.deletionTimestamp !== undefined;
    return { actions: isDeleted ? [{ kind: 'delete', why: 'never-started' }] : [] };
  }
  if (missingSince === undefined) return { actions: [] };
  const requeueAt = missingSince + QUARANTINE_MS;
  if (now < requeueAt) return { actions: [], requeueAt };
  const status = failedStatus(pod, now);
  const marks: Action[] = status === undefined ? [] : [{ kind: 'markFailed', status }];
  return { actions: [...marks, { kind: 'delete', why: 'node-gone' }] };
}

/** Whether an update of a pod may change its collection: its node or its deletion. */
export function changesCollection(pod: Pod, old: Pod): boolean {
  return pod.spec?.nodeName !== old.spec?.nodeName || pod.metadata.deletionTimestamp !== old.metadata.deletionTimestamp;
}

/**
 * What a strategic merge patch changes in the status of a pod whose node is gone: failed, and no longer ready. Undefined when
 * the pod has ended already.
 */
export function failedStatus({ metadata, status }: Pod, now: Instant): PodStatus | undefined {
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded') return undefined;
  const isReady = status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') === true;
  return {
    phase: 'Failed',
    conditions: [
      disruptionTarget('DeletionByPodGC', 'PodGC: node no longer exists', now, metadata.generation),
      ...(isReady ? [{ type: 'Ready', status: 'False', lastTransitionTime: formatTime(now) }] : []),
    ],
  };
}
