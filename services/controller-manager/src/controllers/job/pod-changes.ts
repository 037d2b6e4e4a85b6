import type { Instant } from '@gantry/base';
import type { JobCondition, Pod } from '@gantry/objects';
import { backoffLeft, finishedAt } from './backoff.ts';
import { failuresBefore, pendingIndexes } from './index-counts.ts';
import { isSuspended, limitsEachIndex, replacesOnlyFailed } from './job-rules.ts';
import { newJobPod } from './new-pod.ts';
import type { JobView } from './observed-job.ts';
import { podsToRemove } from './removal-order.ts';

/** The pods that a Job removes and creates. Never both at once, as in Kubernetes. */
export interface PodChanges {
  readonly remove: readonly Pod[];
  /** Whether the removed pods are counted: those of an ending Job are, surplus ones are not. */
  readonly finalizer: 'keep' | 'remove';
  readonly create: readonly Pod[];
  /** When delayed pods may be created, in Unix milliseconds. */
  readonly createAt: Instant | undefined;
}

/** The maximum number of pods that one reconcile creates or deletes, as in Kubernetes. */
const BURST = 500;
/** The minimum delay of a delayed pod, as in Kubernetes. */
const SHORTEST_WAIT_MS = 1000;
const NOTHING: PodChanges = { remove: [], finalizer: 'remove', create: [], createAt: undefined };

export function planPodChanges(view: JobView, end: JobCondition | undefined, now: Instant): PodChanges {
  const { job, active } = view;
  if (end !== undefined) return { ...NOTHING, remove: active, finalizer: 'keep' };
  if (job.metadata.deletionTimestamp !== undefined) return NOTHING;
  if (isSuspended(job)) return { ...NOTHING, remove: podsToRemove(job, active, active.length) };
  const wanted = wantedPods(view);
  const remove = podsToRemove(job, active, Math.max(0, active.length - wanted)).slice(0, BURST);
  if (remove.length > 0) return { ...NOTHING, remove };
  const leaving = replacesOnlyFailed(job) ? view.terminating : 0;
  return planCreations(view, wanted - leaving - active.length, now);
}

/** The desired number of active pods. */
function wantedPods({ job, active, succeeded }: JobView): number {
  const { parallelism = 1, completions } = job.spec ?? {};
  // Without `completions`, the first success stops the creation of pods.
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism;
  return Math.max(0, Math.min(parallelism, completions - succeeded));
}

function planCreations(view: JobView, missing: number, now: Instant): PodChanges {
  const { job, pods, indexes, backoff } = view;
  if (missing <= 0) return NOTHING;
  const waitUntil = (left: number) => now + Math.max(SHORTEST_WAIT_MS, left);
  const left = limitsEachIndex(job) ? 0 : backoffLeft(backoff, now);
  if (left > 0) return { ...NOTHING, createAt: waitUntil(left) };
  const count = Math.min(missing, BURST);
  if (indexes === undefined)
    return { ...NOTHING, create: Array.from({ length: count }, () => newJobPod(job, undefined, undefined)) };
  const create: Pod[] = [];
  let shortest = Infinity;
  for (const index of pendingIndexes(job, pods, indexes, count)) {
    const replaced = indexes.awaitingSuccessor.get(index);
    const indexLeft = replaced === undefined ? 0 : indexBackoffLeft(replaced, now);
    if (indexLeft > 0) shortest = Math.min(shortest, indexLeft);
    else create.push(newJobPod(job, index, replaced));
  }
  return { ...NOTHING, create, createAt: shortest === Infinity ? undefined : waitUntil(shortest) };
}

/** How long the successor of a failed pod has to wait if each index has its own limit. */
function indexBackoffLeft(failed: Pod, now: Instant): number {
  return backoffLeft({ failures: failuresBefore(failed) + 1, lastFailure: finishedAt(failed) }, now);
}
