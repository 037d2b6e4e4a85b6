import { type DaemonSet, hasEnded, type Pod } from '@gantry/objects';
import { isActive, isAvailable, isReady } from '../../libraries/pods/pod-state.ts';
import { HASH_LABEL, targetNode } from './placement.ts';

/** The set's pods by node, without finished pods that are being deleted: a finalizer may hold these for long. */
export type PodsByNode = ReadonlyMap<string, readonly Pod[]>;

export function podsByNode(pods: readonly Pod[]): PodsByNode {
  const byNode = new Map<string, Pod[]>();
  for (const pod of pods) {
    if (pod.metadata.deletionTimestamp !== undefined && hasEnded(pod)) continue;
    const node = targetNode(pod);
    if (node === undefined) continue;
    const known = byNode.get(node);
    if (known === undefined) byNode.set(node, [pod]);
    else known.push(pod);
  }
  return byNode;
}

/** Why a pod is deleted. Deletions of finished pods are reported on the set. */
export type DeleteReason = 'failed' | 'succeeded' | 'excess';

/** The pod changes that one node needs. */
export interface NodeNeeds {
  readonly create: boolean;
  readonly remove: readonly { readonly pod: Pod; readonly reason: DeleteReason }[];
}

/** Input of the decision about a node, besides its pods. */
export interface NodeRules {
  readonly set: DaemonSet;
  /** The hash of the current revision. */
  readonly hash: string;
  readonly allowsSurge: boolean;
  /** Whether the next failed pod has to wait, because one was deleted on this node recently. */
  readonly backsOff: boolean;
  readonly now: number;
}

const NOTHING: NodeNeeds = { create: false, remove: [] };

/** A node that must not have a pod: all are deleted. */
export function clearNode(pods: readonly Pod[]): NodeNeeds {
  return { create: false, remove: excess(pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined)) };
}

/**
 * The needs of a node that may have a pod: finished pods are deleted, and one of the others stays. During an update with surge, an old and
 * a new pod may both stay until the new one is available, and a terminating pod does not delay its successor.
 */
export function tendNode(pods: readonly Pod[], placement: 'run' | 'keep', rules: NodeRules): NodeNeeds {
  const [first] = pods;
  // The usual case.
  if (pods.length === 1 && first !== undefined && isActive(first)) return NOTHING;
  const living = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const running = living.filter((pod) => !hasEnded(pod)).sort(oldestFirst);
  const finished = removalsOfFinished(living, rules.backsOff);
  if (!rules.allowsSurge) return { create: false, remove: [...finished, ...excess(running.slice(1))] };
  if (running.length === 0) return { create: placement === 'run', remove: finished };
  return { create: false, remove: [...finished, ...excess(surplusOfSurge(running, rules))] };
}

/** Succeeded pods are deleted at once; failed ones one at a time, after a delay. */
function removalsOfFinished(living: readonly Pod[], backsOff: boolean): NodeNeeds['remove'] {
  const failed = living.filter(({ status }) => status?.phase === 'Failed');
  const succeeded = living.filter(({ status }) => status?.phase === 'Succeeded');
  return [
    ...succeeded.map((pod) => ({ pod, reason: 'succeeded' as const })),
    ...(backsOff ? [] : failed.slice(0, 1)).map((pod) => ({ pod, reason: 'failed' as const })),
  ];
}

/** The needs of a node without any pod. */
export function emptyNode(placement: 'run' | 'keep'): NodeNeeds {
  return placement === 'run' ? { create: true, remove: [] } : NOTHING;
}

/** Keeps the oldest new pod, and the oldest old pod while that is ready and the new one is not available. */
function surplusOfSurge(running: readonly Pod[], { set, hash, now }: NodeRules): readonly Pod[] {
  if (running.length <= 1) return [];
  const isNew = (pod: Pod) => pod.metadata.labels?.[HASH_LABEL] === hash;
  const newest = running.find(isNew);
  const old = running.find((pod) => !isNew(pod));
  const others = running.filter((pod) => pod !== newest && pod !== old);
  if (newest === undefined || old === undefined) return others;
  const isReplaced = !isReady(old) || isAvailable(newest, set.spec?.minReadySeconds ?? 0, now);
  return isReplaced ? [...others, old] : others;
}

function excess(pods: readonly Pod[]): NodeNeeds['remove'] {
  return pods.map((pod) => ({ pod, reason: 'excess' }));
}

/** Bound pods before unbound ones, older before newer. */
export function oldestFirst(a: Pod, b: Pod): number {
  const bound = ({ spec }: Pod) => ((spec?.nodeName ?? '') === '' ? 1 : 0);
  return (
    bound(a) - bound(b) ||
    compare(a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? '') ||
    compare(a.metadata.name ?? '', b.metadata.name ?? '')
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
