import { formatTime, type Instant } from '@gantry/base';
import type { Pod, PodStatus } from '@gantry/api';
import { disruptionTarget } from '../taint-eviction/plan.ts';

/** What the plan looks at. `missingSince` is when its node was first seen to be gone. */
export interface ObservedPod {
  readonly pod: Pod;
  readonly missingSince: Instant | undefined;
}

export type Collection =
  | { readonly kind: 'stays' }
  | { readonly kind: 'lookAgainAt'; readonly at: Instant }
  /** Removed at once: nobody is left who could stop it. */
  | { readonly kind: 'remove'; readonly why: 'node-gone' | 'never-started' };

/** A node that is deleted by mistake and registers again keeps its pods. */
const QUARANTINE_MS = 5000;

/** Removes pods whose node is gone, and pods that were deleted before they got a node. */
export function planPodCollection({ pod, missingSince }: ObservedPod, now: Instant): Collection {
  if ((pod.spec?.nodeName ?? '') === '') {
    return pod.metadata.deletionTimestamp === undefined ? { kind: 'stays' } : { kind: 'remove', why: 'never-started' };
  }
  if (missingSince === undefined) return { kind: 'stays' };
  const at = missingSince + QUARANTINE_MS;
  return now >= at ? { kind: 'remove', why: 'node-gone' } : { kind: 'lookAgainAt', at };
}

/**
 * What is to be merged, conditions by their types, into the status of a pod whose node is gone; undefined when it has ended
 * already. Nobody is left who could say that it is ready.
 */
export function failedStatus({ status }: Pod, now: Instant): PodStatus | undefined {
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded') return undefined;
  const isReady = status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') === true;
  return {
    phase: 'Failed',
    conditions: [
      disruptionTarget('DeletionByPodGC', 'PodGC: node no longer exists', now),
      ...(isReady ? [{ type: 'Ready', status: 'False', lastTransitionTime: formatTime(now) }] : []),
    ],
  };
}
