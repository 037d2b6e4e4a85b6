import type { Instant } from '@gantry/base';
import { equalJson, labelSelectorFrom, type Pod, type ReplicaSet, type ReplicaSetStatus } from '@gantry/api';
import { claimObjects } from '../ownership.ts';
import { availableAt, isActive } from './pod-state.ts';
import { rankForDeletion } from './rank.ts';
import { type CreateFailure, replicaSetStatus } from './status.ts';

/** What the plan looks at: the set, and the pods of its namespace that it controls or may select. */
export interface ObservedReplicaSet {
  readonly replicaSet: ReplicaSet;
  readonly pods: readonly Pod[];
  /** How many pods related sets (of the same Deployment) have on each node: crowded nodes are relieved first. */
  readonly relatedPods: readonly Pod[];
  /** Why the last creations failed, undefined when they did not. */
  readonly failure: CreateFailure | undefined;
}

export type Action =
  | { readonly kind: 'adopt'; readonly pod: Pod }
  | { readonly kind: 'release'; readonly pod: Pod }
  | { readonly kind: 'createPods'; readonly count: number }
  | { readonly kind: 'deletePod'; readonly pod: Pod }
  | { readonly kind: 'updateStatus'; readonly status: ReplicaSetStatus };

export interface Plan {
  readonly actions: readonly Action[];
  /** When a pod becomes available by time alone, so that the set must be looked at again. */
  readonly lookAgainAt: Instant | undefined;
}

/** The most pods that one look creates or deletes, as in Kubernetes' replica set controller. */
const BURST = 500;

/** Actions that move the observed pods toward the set's spec. Applying them and planning again yields none. */
export function planReplicaSet(observed: ObservedReplicaSet, now: Instant): Plan {
  const { replicaSet, pods } = observed;
  const selector = labelSelectorFrom(replicaSet.spec?.selector);
  const claim = claimObjects(replicaSet, pods, (labels) => selector.matches(labels));
  const adopted = claim.adopt.filter(isActive);
  const active = [...claim.owned, ...adopted].filter(isActive);
  const actions: Action[] = [
    ...adopted.map((pod): Action => ({ kind: 'adopt', pod })),
    ...claim.release.map((pod): Action => ({ kind: 'release', pod })),
    ...(replicaSet.metadata.deletionTimestamp === undefined ? replicaActions(observed, active, now) : []),
  ];
  const status = replicaSetStatus(
    replicaSet,
    claim.owned.filter(isActive).concat(adopted),
    claim.owned,
    observed.failure,
    now,
  );
  if (!equalJson(status, replicaSet.status ?? {})) actions.push({ kind: 'updateStatus', status });
  return { actions, lookAgainAt: nextAvailability(active, replicaSet.spec?.minReadySeconds ?? 0, now) };
}

function replicaActions(observed: ObservedReplicaSet, active: readonly Pod[], now: Instant): Action[] {
  const surplus = active.length - (observed.replicaSet.spec?.replicas ?? 1);
  if (surplus < 0) return [{ kind: 'createPods', count: Math.min(-surplus, BURST) }];
  if (surplus === 0) return [];
  return rankForDeletion(active, observed.relatedPods, now)
    .slice(0, Math.min(surplus, BURST))
    .map((pod): Action => ({ kind: 'deletePod', pod }));
}

function nextAvailability(pods: readonly Pod[], minReadySeconds: number, now: Instant): Instant | undefined {
  const coming = pods
    .map((pod) => availableAt(pod, minReadySeconds))
    .filter((at) => at !== undefined && at > now) as Instant[];
  return coming.length === 0 ? undefined : Math.min(...coming);
}
