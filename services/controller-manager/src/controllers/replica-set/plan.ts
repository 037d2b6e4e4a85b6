import type { Instant, Plan } from '@gantry/base';
import { equalJson, labelSelectorFrom, type Pod, type ReplicaSet, type ReplicaSetStatus } from '@gantry/objects';
import { type Claim, claimObjects } from '../ownership.ts';
import { isActive, nextAvailability } from '../pods/pod-state.ts';
import { rankForDeletion } from './rank.ts';
import { type PodFailure, replicaSetStatus } from './status.ts';

/** What the plan looks at: the set, and the pods of its namespace that it controls or may select. */
export interface ObservedReplicaSet {
  readonly replicaSet: ReplicaSet;
  readonly pods: readonly Pod[];
  /** How many pods related sets (of the same Deployment) have on each node: crowded nodes are relieved first. */
  readonly relatedPods: readonly Pod[];
  /** Why creating or deleting pods failed just now; undefined before that was tried. */
  readonly failure: PodFailure | undefined;
}

export type Action =
  | { readonly kind: 'adopt'; readonly pod: Pod }
  | { readonly kind: 'release'; readonly pod: Pod }
  | { readonly kind: 'createPods'; readonly count: number }
  | { readonly kind: 'deletePod'; readonly pod: Pod }
  | { readonly kind: 'updateStatus'; readonly status: ReplicaSetStatus };

/** The most pods that one look creates or deletes, as in Kubernetes' replica set controller. */
const BURST = 500;

/** Actions that move the observed pods toward the set's spec. Applying them and planning again yields none. */
export function planReplicaSet(observed: ObservedReplicaSet, now: Instant): Plan<Action> {
  const { replicaSet } = observed;
  const { claim, adopted } = claimPods(observed);
  const active = [...claim.owned, ...adopted].filter(isActive);
  const actions: Action[] = [
    ...adopted.map((pod): Action => ({ kind: 'adopt', pod })),
    ...claim.release.map((pod): Action => ({ kind: 'release', pod })),
    ...(replicaSet.metadata.deletionTimestamp === undefined ? replicaActions(observed, active, now) : []),
    ...planStatus(observed, now, { claim, adopted }),
  ];
  return { actions, requeueAt: nextAvailability(active, replicaSet.spec?.minReadySeconds ?? 0, now) };
}

/** The status alone: after changes of pods have failed it is planned again with the failure. */
export function planStatus(
  observed: ObservedReplicaSet,
  now: Instant,
  { claim, adopted } = claimPods(observed),
): readonly Action[] {
  const { replicaSet, failure } = observed;
  const active = claim.owned.filter(isActive).concat(adopted);
  const status = replicaSetStatus(replicaSet, active, claim.owned, failure, now);
  return equalJson(status, replicaSet.status ?? {}) ? [] : [{ kind: 'updateStatus', status }];
}

function claimPods({ replicaSet, pods }: ObservedReplicaSet): { claim: Claim<Pod>; adopted: readonly Pod[] } {
  const selector = labelSelectorFrom(replicaSet.spec?.selector);
  const claim = claimObjects(replicaSet, pods, (labels) => selector.matches(labels));
  return { claim, adopted: claim.adopt.filter(isActive) };
}

function replicaActions(observed: ObservedReplicaSet, active: readonly Pod[], now: Instant): Action[] {
  const surplus = active.length - (observed.replicaSet.spec?.replicas ?? 1);
  if (surplus < 0) return [{ kind: 'createPods', count: Math.min(-surplus, BURST) }];
  if (surplus === 0) return [];
  return rankForDeletion(active, observed.relatedPods, now)
    .slice(0, Math.min(surplus, BURST))
    .map((pod): Action => ({ kind: 'deletePod', pod }));
}
