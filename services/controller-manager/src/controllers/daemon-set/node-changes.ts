import { controllerOf, type DaemonSet, equalJson, keyOf, type Node, type ObjectKey, type Pod } from '@gantry/objects';
import { type Placement, targetNode } from './placement.ts';

/** Objects around a node that determine which sets to reconcile. */
export interface NodeSurroundings {
  readonly sets: readonly DaemonSet[];
  readonly placement: (set: DaemonSet, node: Node) => Placement;
  /** The pods that are bound to the node. */
  readonly bound: readonly Pod[];
  /** Pods without a node, of all sets and other owners. */
  readonly unbound: () => readonly Pod[];
}

/** Whether a change of a node can change the placement of pods: only labels and taints can. */
export function isRelevant(node: Node, old: Node | undefined): boolean {
  if (old === undefined) return true;
  return (
    !equalJson(node.metadata.labels ?? {}, old.metadata.labels ?? {}) ||
    !equalJson(node.spec?.taints ?? [], old.spec?.taints ?? [])
  );
}

/**
 * The sets to reconcile after a change of a node, as Kubernetes selects them: sets that lack a pod there, sets with a pod that must not be
 * there, and sets with a pod there that count misplaced pods, because that number may have changed. In addition to Kubernetes, sets whose
 * placement there has changed, so that their numbers stay correct.
 */
export function setsOfChangedNode(node: Node, old: Node | undefined, around: NodeSurroundings): readonly ObjectKey[] {
  const holders = new Set(around.bound.map(ownerUid));
  return chosen(node, around, (set, strays) => {
    const placement = around.placement(set, node);
    const uid = set.metadata.uid ?? '';
    if (old !== undefined && around.placement(set, old) !== placement && !strays().has(uid)) return true;
    if (!holders.has(uid)) return placement === 'run';
    return placement === 'leave' || (set.status?.numberMisscheduled ?? 0) > 0;
  });
}

/** The sets that had a pod on a deleted node. */
export function setsOfLostNode(node: Node, around: NodeSurroundings): readonly ObjectKey[] {
  return chosen(
    node,
    around,
    (set, strays) => around.placement(set, node) !== 'leave' && !strays().has(set.metadata.uid ?? ''),
  );
}

function chosen(
  { metadata: { name = '' } }: Node,
  { sets, unbound }: NodeSurroundings,
  isChosen: (set: DaemonSet, strays: () => ReadonlySet<string>) => boolean,
): readonly ObjectKey[] {
  let found: ReadonlySet<string> | undefined;
  const strays = () => {
    found ??= straysOf(name, unbound());
    return found;
  };
  return sets.filter((set) => isChosen(set, strays)).map(keyOf);
}

/**
 * The sets with a pod for this node that runs without being bound. No scheduler creates such a pod, and Kubernetes does not notice it when
 * its node changes.
 */
function straysOf(name: string, unbound: readonly Pod[]): ReadonlySet<string> {
  const isStray = (pod: Pod) =>
    controllerOf(pod)?.kind === 'DaemonSet' &&
    (pod.status?.phase ?? 'Pending') !== 'Pending' &&
    targetNode(pod) === name;
  return new Set(unbound.filter(isStray).map(ownerUid));
}

function ownerUid(pod: Pod): string {
  return controllerOf(pod)?.uid ?? '';
}
