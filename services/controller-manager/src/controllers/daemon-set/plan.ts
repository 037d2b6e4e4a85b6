import { append, type Instant, type Plan } from '@gantry/base';
import {
  type ControllerRevision,
  type DaemonSet,
  type DaemonSetStatus,
  equalJson,
  labelSelectorFrom,
  type Node,
  type Pod,
} from '@gantry/objects';
import { type Ownership, claimObjects } from '../../libraries/ownership.ts';
import { isAvailable, isReady, nextAvailability } from '../../libraries/pods/pod-state.ts';
import { expiredRevisions, type HistoryAction, orderHistory } from './history.ts';
import {
  clearNode,
  type DeleteReason,
  emptyNode,
  type NodeNeeds,
  oldestFirst,
  podsByNode,
  type PodsByNode,
  tendNode,
} from './node-pods.ts';
import { daemonPodMaker, isUpdated, type Placement, placementOf, targetNode } from './placement.ts';
import { allowsSurge, nextUpdateStep, type UpdateStep } from './rolling-update.ts';

/** The input of the plan: the set, all nodes, and the pods and revisions that it controls or may select. */
export interface ObservedDaemonSet {
  readonly set: DaemonSet;
  readonly nodes: readonly Node[];
  readonly pods: readonly Pod[];
  readonly revisions: readonly ControllerRevision[];
  /** When a node's failed pod may be deleted, if one was deleted there recently. */
  readonly failedUntil: (nodeName: string) => Instant | undefined;
}

export interface Deletion {
  readonly pod: Pod;
  readonly nodeName: string;
  readonly reason: DeleteReason;
}

/** Actions in the order of execution. Status and pod deletions do not depend on the success of pod creations. */
export type Action =
  | HistoryAction
  | { readonly kind: 'adopt'; readonly object: Pod | ControllerRevision }
  | { readonly kind: 'release'; readonly object: Pod | ControllerRevision }
  | { readonly kind: 'createPods'; readonly pods: readonly Pod[] }
  | { readonly kind: 'deletePods'; readonly deletions: readonly Deletion[] }
  | { readonly kind: 'reportSelectingAll' }
  | { readonly kind: 'updateStatus'; readonly status: DaemonSetStatus };

/** The maximum number of pods that one reconcile creates, and deletes, as in Kubernetes' daemon set controller. */
export const BURST = 250;

/** Actions that give every node of a set its pod. Executing them and planning again yields none. */
export function planDaemonSet(observed: ObservedDaemonSet, now: Instant): Plan<Action> {
  const { set } = observed;
  if (equalJson(set.spec?.selector, {})) return { actions: [{ kind: 'reportSelectingAll' }] };
  // The history may be deleted before the pods are; without it, neither pods nor status can be determined.
  if (set.metadata.deletionTimestamp !== undefined) return { actions: [] };
  const pods = ownershipOf(set, observed.pods);
  const revisions = ownershipOf(set, observed.revisions);
  const history = orderHistory(set, revisions.held, pods.held);
  const view = viewOf(observed, history.hash, history.pods);
  const status = daemonSetStatus(view, now);
  const actions: Action[] = [
    ...pods.actions,
    ...revisions.actions,
    ...history.actions,
    ...podChanges(view, now),
    ...(equalJson(status, set.status ?? {}) ? [] : [{ kind: 'updateStatus', status } as const]),
    ...expiredRevisions(set, history.others, history.pods).map(
      (revision): Action => ({ kind: 'deleteRevision', revision }),
    ),
  ];
  return { actions, requeueAt: nextLook(view, now) };
}

/** Adoptions and releases, and the objects that the set controls afterwards. */
function ownershipOf<T extends Pod | ControllerRevision>(
  set: DaemonSet,
  candidates: readonly T[],
): { readonly actions: readonly Action[]; readonly held: readonly T[] } {
  const selector = labelSelectorFrom(set.spec?.selector);
  const claimed: Ownership<T> = claimObjects(set, candidates, (labels) => selector.matches(labels));
  const actions = [
    ...claimed.adopt.map((object): Action => ({ kind: 'adopt', object })),
    ...claimed.release.map((object): Action => ({ kind: 'release', object })),
  ];
  return { actions, held: [...claimed.owned, ...claimed.adopt] };
}

/** The observed state of one set, computed once. */
interface View {
  readonly set: DaemonSet;
  readonly hash: string;
  readonly nodes: readonly { readonly node: Node; readonly name: string; readonly placement: Placement }[];
  readonly byNode: PodsByNode;
  readonly isUpdated: (pod: Pod) => boolean;
  readonly failedUntil: ObservedDaemonSet['failedUntil'];
}

function viewOf({ set, nodes, failedUntil }: ObservedDaemonSet, hash: string, pods: readonly Pod[]): View {
  const place = placementOf(set);
  const placed = nodes.map((node) => ({ node, name: node.metadata.name ?? '', placement: place(node) }));
  return { set, hash, nodes: placed, byNode: podsByNode(pods), isUpdated: isUpdated(set, hash), failedUntil };
}

/** First, every node gets what it needs; only then does an update take its next step. */
function podChanges(view: View, now: Instant): readonly Action[] {
  const creations: string[] = [];
  const deletions: Deletion[] = [];
  for (const { name, create, remove } of needsOf(view, now)) {
    if (create) creations.push(name);
    for (const { pod, reason } of remove) deletions.push({ pod, nodeName: name, reason });
  }
  if (creations.length === 0 && deletions.length === 0) {
    const { createOn, remove } = updateStep(view, now);
    append(creations, createOn);
    for (const pod of remove) deletions.push({ pod, nodeName: targetNode(pod) ?? '', reason: 'excess' });
  }
  const actions: Action[] = [];
  if (creations.length > 0) {
    const podFor = daemonPodMaker(view.set, view.hash);
    actions.push({ kind: 'createPods', pods: creations.slice(0, BURST).map((name) => podFor(name)) });
  }
  if (deletions.length > 0) actions.push({ kind: 'deletePods', deletions: deletions.slice(0, BURST) });
  return actions;
}

function needsOf(view: View, now: Instant): readonly (NodeNeeds & { readonly name: string })[] {
  const { set, hash, nodes, byNode, failedUntil } = view;
  const rules = { set, hash, allowsSurge: allowsSurge(set), now };
  const known = new Set<string>();
  const needs = nodes.map(({ name, placement }) => {
    known.add(name);
    const pods = byNode.get(name);
    if (placement === 'leave') return { name, ...clearNode(pods ?? []) };
    if (pods === undefined) return { name, ...emptyNode(placement) };
    return { name, ...tendNode(pods, placement, { ...rules, backsOff: failedUntil(name) !== undefined }) };
  });
  for (const [name, pods] of byNode) {
    // Pods bound to a deleted node are garbage collected; pods waiting for that node would wait forever.
    const waiting = known.has(name) ? [] : pods.filter(({ spec }) => (spec?.nodeName ?? '') === '');
    if (waiting.length > 0) needs.push({ name, ...clearNode(waiting) });
  }
  return needs;
}

function updateStep({ set, nodes, byNode, isUpdated: isNew }: View, now: Instant): UpdateStep {
  if (set.spec?.updateStrategy?.type !== 'RollingUpdate') return { createOn: [], remove: [] };
  const placements = new Map(nodes.map(({ name, placement }) => [name, placement]));
  const desired = nodes.filter(({ placement }) => placement === 'run').length;
  const placement = (name: string) => placements.get(name);
  return nextUpdateStep({ set, byNode, placement, desired, isUpdated: isNew }, now);
}

/** When the passing of time changes something: a pod becomes available, or a failed pod may be deleted. */
function nextLook({ set, byNode, failedUntil }: View, now: Instant): Instant | undefined {
  const minReadySeconds = set.spec?.minReadySeconds ?? 0;
  let next: Instant | undefined;
  for (const [name, pods] of byNode) {
    const times = [nextAvailability(pods, minReadySeconds, now), pods.some(isFailed) ? failedUntil(name) : undefined];
    for (const at of times) if (at !== undefined && (next === undefined || at < next)) next = at;
  }
  return next;
}

function isFailed({ status, metadata }: Pod): boolean {
  return status?.phase === 'Failed' && metadata.deletionTimestamp === undefined;
}

/** Input of the status. */
interface Counted {
  readonly set: DaemonSet;
  readonly nodes: readonly { readonly node: Node; readonly placement: Placement }[];
  readonly byNode: PodsByNode;
  readonly isUpdated: (pod: Pod) => boolean;
}

/** The status computed from nodes and pods; per node the oldest pod counts. Zeros are omitted as in Kubernetes. */
function daemonSetStatus({ set, nodes, byNode, isUpdated }: Counted, now: Instant): DaemonSetStatus {
  const counts = { desired: 0, current: 0, misscheduled: 0, ready: 0, available: 0, updated: 0 };
  for (const { node, placement } of nodes) {
    const pods = byNode.get(node.metadata.name ?? '') ?? [];
    if (placement !== 'run') {
      if (pods.length > 0) counts.misscheduled += 1;
      continue;
    }
    counts.desired += 1;
    const [pod] = pods.length > 1 ? [...pods].sort(oldestFirst) : pods;
    if (pod === undefined) continue;
    counts.current += 1;
    if (isReady(pod)) counts.ready += 1;
    if (isAvailable(pod, set.spec?.minReadySeconds ?? 0, now)) counts.available += 1;
    if (isUpdated(pod)) counts.updated += 1;
  }
  const { conditions, collisionCount } = set.status ?? {};
  const unavailable = counts.desired - counts.available;
  const { generation } = set.metadata;
  return {
    currentNumberScheduled: counts.current,
    numberMisscheduled: counts.misscheduled,
    desiredNumberScheduled: counts.desired,
    numberReady: counts.ready,
    observedGeneration: generation,
    updatedNumberScheduled: counts.updated || undefined,
    numberAvailable: counts.available || undefined,
    numberUnavailable: unavailable || undefined,
    collisionCount,
    conditions,
  };
}
