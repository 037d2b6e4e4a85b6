import type { Instant, Plan } from '@gantry/base';
import { equalJson, type Pod, type ReplicaSetStatus } from '@gantry/objects';
import { claimObjects, selectorOf } from '../../libraries/ownership.ts';
import { isActive, isReady, isTerminating, nextAvailability } from '../../libraries/pods/pod-state.ts';
import { rankForDeletion } from './rank.ts';
import { desiredReplicas, type PodFailure, type PodSet, podSetStatus } from './status.ts';

/** The input of the plan: the set, and the pods of its namespace that it controls or may select. */
export interface ObservedPodSet {
  readonly set: PodSet;
  readonly pods: readonly Pod[];
  /** Pods of all sets with the same owner (a Deployment): pods on nodes with many of them are deleted first. */
  readonly relatedPods: readonly Pod[];
  /** Why creating or deleting pods has just failed; undefined before that was tried. */
  readonly failure: PodFailure | undefined;
}

export type Action =
  | { readonly kind: 'adopt'; readonly pod: Pod }
  | { readonly kind: 'release'; readonly pod: Pod }
  | { readonly kind: 'createPods'; readonly count: number }
  /** `asSeen`: the pod was preferred because it was not ready, and is deleted only if it is unchanged. */
  | { readonly kind: 'deletePod'; readonly pod: Pod; readonly asSeen: boolean }
  | { readonly kind: 'updateStatus'; readonly status: ReplicaSetStatus };

/** The maximum number of pods that one reconcile creates or deletes, as in Kubernetes' replica set controller. */
export const BURST = 500;

/** The pods of a set, grouped by action. Pods that have ended are neither adopted nor released. */
interface Claimed {
  readonly adopt: readonly Pod[];
  readonly release: readonly Pod[];
  /** Including those to adopt. */
  readonly active: readonly Pod[];
  readonly terminating: readonly Pod[];
}

/** Actions that move the observed pods toward the set's spec. Executing them and planning again yields none. */
export function planReplicaSet(observed: ObservedPodSet, now: Instant): Plan<Action> {
  const { set } = observed;
  const claimed = claimPods(observed);
  const actions: Action[] = [
    ...claimed.adopt.map((pod): Action => ({ kind: 'adopt', pod })),
    ...claimed.release.map((pod): Action => ({ kind: 'release', pod })),
    ...(set.metadata.deletionTimestamp === undefined ? replicaActions(observed, claimed.active, now) : []),
    ...statusActions(observed, claimed, now),
  ];
  return { actions, requeueAt: nextAvailability(claimed.active, set.spec?.minReadySeconds ?? 0, now) };
}

/** Only the status. After failed pod changes, it is planned again with the failure. */
export function planStatus(observed: ObservedPodSet, now: Instant): readonly Action[] {
  return statusActions(observed, claimPods(observed), now);
}

function statusActions({ set, failure }: ObservedPodSet, claimed: Claimed, now: Instant): readonly Action[] {
  const status = podSetStatus(set, claimed, failure, now);
  return equalJson(status, set.status ?? {}) ? [] : [{ kind: 'updateStatus', status }];
}

function claimPods({ set, pods }: ObservedPodSet): Claimed {
  const selector = selectorOf(set);
  const selects = (labels: Record<string, string> | undefined) => selector.matches(labels);
  const { owned, adopt, release } = claimObjects(set, pods.filter(isActive), selects);
  const terminating = claimObjects(set, pods.filter(isTerminating), selects).owned;
  return { adopt, release, active: [...owned, ...adopt], terminating };
}

function replicaActions(observed: ObservedPodSet, active: readonly Pod[], now: Instant): Action[] {
  const surplus = active.length - desiredReplicas(observed.set);
  if (surplus < 0) return [{ kind: 'createPods', count: Math.min(-surplus, BURST) }];
  if (surplus === 0) return [];
  // The order does not matter if all are deleted.
  const someStay = surplus < active.length;
  const ranked = someStay ? rankForDeletion(active, observed.relatedPods, now) : active;
  return ranked
    .slice(0, Math.min(surplus, BURST))
    .map((pod): Action => ({ kind: 'deletePod', pod, asSeen: someStay && !isReady(pod) }));
}
