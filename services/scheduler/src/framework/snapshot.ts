import {
  addAmounts,
  type Amounts,
  hasEnded,
  NO_AMOUNTS,
  type Node,
  parseAmounts,
  type Pod,
  type PodDisruptionBudget,
  subtractAmounts,
} from '@gantry/objects';
import type { Labels, NamespaceLabels } from './pod-affinity.ts';
import { createPodInfo, type NodePods, nominatedNode, type PodDifference, type PodInfo } from './pod-info.ts';

/** A node with its pods. Immutable. */
export interface NodeInfo extends NodePods {
  readonly node: Node;
  readonly allocatable: Amounts;
  readonly requested: Amounts;
}

const NO_PODS: ReadonlyMap<string, PodInfo> = new Map();

/** The cluster at one moment, sorted by node name. Immutable; shares unchanged parts with earlier snapshots. */
export interface ClusterSnapshot {
  readonly nodes: readonly NodeInfo[];
  /** Pods that have no node yet and are nominated to one, by its name: room is kept for them there. */
  readonly nominated: ReadonlyMap<string, readonly PodInfo[]>;
  readonly budgets: readonly PodDisruptionBudget[];
  readonly namespaces: NamespaceLabels;
}

/** `node` with one more pod. */
export function withPod(node: NodeInfo, pod: PodInfo): NodeInfo {
  const pods = new Map(node.pods).set(pod.key, pod);
  const withTerms = pod.affinity === undefined ? node.withTerms : new Map(node.withTerms).set(pod.key, pod);
  return { ...node, pods, withTerms, requested: addAmounts(node.requested, pod.requests) };
}

/** The index of a node in `nodes`, which are sorted by name; -1 when there is none of this name. */
export function indexOfNode(nodes: readonly NodeInfo[], name: string): number {
  let low = 0;
  let high = nodes.length - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const found = nodes[middle]?.name ?? '';
    if (found === name) return middle;
    if (found < name) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

function withoutPod(node: NodeInfo, key: string): NodeInfo {
  const gone = node.pods.get(key);
  if (gone === undefined) return node;
  const withTerms = gone.affinity === undefined ? node.withTerms : without(node.withTerms, key);
  return {
    ...node,
    pods: without(node.pods, key),
    withTerms,
    requested: subtractAmounts(node.requested, gone.requests),
  };
}

function without(pods: ReadonlyMap<string, PodInfo>, key: string): ReadonlyMap<string, PodInfo> {
  const left = new Map(pods);
  left.delete(key);
  return left;
}

/** A pod that was assigned to a node, before the cache shows it. */
interface Assumed {
  readonly uid: string;
  readonly nodeName: string;
}

/**
 * Updates the snapshot with each change. Assigned pods count before the cache shows the assignment (`assume`), until it does or
 * the assignment is known to have failed (`forget`).
 */
export class SnapshotKeeper {
  readonly #nodes = new Map<string, NodeInfo>();
  /** The node of each pod, by key. The node need not exist yet. */
  readonly #placed = new Map<string, { readonly nodeName: string; readonly info: PodInfo }>();
  readonly #assumed = new Map<string, Assumed>();
  /** Pods that wait and have a nominated node, by key. */
  readonly #nominated = new Map<string, PodInfo>();
  readonly #budgets = new Map<string, PodDisruptionBudget>();
  readonly #namespaces = new Map<string, Labels>();
  /** A copy of these that snapshots have. */
  #sharedNamespaces: NamespaceLabels | undefined;
  #snapshot: ClusterSnapshot | undefined;

  /** The current snapshot. Cheap without changes. */
  snapshot(): ClusterSnapshot {
    this.#snapshot ??= {
      nodes: [...this.#nodes.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
      nominated: this.#nominations(),
      budgets: [...this.#budgets.values()],
      namespaces: (this.#sharedNamespaces ??= new Map(this.#namespaces)),
    };
    return this.#snapshot;
  }

  /** The current state of a node. */
  node(name: string): NodeInfo | undefined {
    return this.#nodes.get(name);
  }

  setNode(node: Node): void {
    const name = node.metadata.name ?? '';
    const known = this.#nodes.get(name);
    const allocatable = parseAmounts(node.status?.allocatable);
    if (known !== undefined) {
      this.#put({ ...known, node, allocatable });
      return;
    }
    let info: NodeInfo = { name, node, allocatable, requested: NO_AMOUNTS, pods: NO_PODS, withTerms: NO_PODS };
    for (const placed of this.#placed.values()) if (placed.nodeName === name) info = withPod(info, placed.info);
    this.#put(info);
  }

  removeNode(name: string): void {
    if (this.#nodes.delete(name)) this.#snapshot = undefined;
  }

  /** Sets whether a pod that waits is nominated to a node: its status says so. */
  setNomination(key: string, info: PodInfo | undefined): void {
    const isNominated = info !== undefined && nominatedNode(info) !== '';
    if (isNominated) this.#nominated.set(key, info);
    else if (!this.#nominated.delete(key)) return;
    this.#snapshot = undefined;
  }

  /** The pod of this key that room is kept for; undefined when there is none. */
  nominated(key: string): PodInfo | undefined {
    return this.#nominated.get(key);
  }

  setBudget(key: string, budget: PodDisruptionBudget | undefined): void {
    if (budget === undefined) this.#budgets.delete(key);
    else this.#budgets.set(key, budget);
    this.#snapshot = undefined;
  }

  /** Sets the labels of a namespace; undefined when it is gone. */
  setNamespace(name: string, labels: Labels | undefined): void {
    if (labels === undefined) this.#namespaces.delete(name);
    else this.#namespaces.set(name, labels);
    this.#sharedNamespaces = undefined;
    this.#snapshot = undefined;
  }

  /** The present labels. */
  get namespaces(): NamespaceLabels {
    return this.#namespaces;
  }

  /** The pod of this key as it counts on its node; undefined while it counts on none. */
  placed(key: string): PodInfo | undefined {
    return this.#placed.get(key)?.info;
  }

  /** Whether `holds` for a pod on a node, of another key. */
  hasOther(key: string, holds: (pod: PodInfo) => boolean): boolean {
    for (const [other, { info }] of this.#placed) if (other !== key && holds(info)) return true;
    return false;
  }

  /** Sets a pod from the cache. A pod without a node is ignored while it is assumed to have one. */
  setPod(pod: Pod): void {
    const { namespace = '', name = '', uid } = pod.metadata;
    const key = `${namespace}/${name}`;
    const nodeName = pod.spec?.nodeName ?? '';
    const assumed = this.#assumed.get(key);
    if (nodeName === '' && assumed !== undefined && assumed.uid === uid && !hasEnded(pod)) return;
    this.#assumed.delete(key);
    this.#unplace(key);
    if (nodeName !== '' && !hasEnded(pod)) this.#place(nodeName, createPodInfo(pod));
  }

  removePod(key: string): void {
    this.#assumed.delete(key);
    this.#unplace(key);
  }

  /** Counts a pod on a node before the cache shows it. */
  assume(info: PodInfo, nodeName: string): void {
    this.#unplace(info.key);
    this.#assumed.set(info.key, { uid: info.uid, nodeName });
    this.#place(nodeName, info);
  }

  /** The assignment has failed for certain. No effect once the cache shows the pod's node. */
  forget(info: PodInfo): void {
    if (this.#assumed.get(info.key)?.uid !== info.uid) return;
    this.#assumed.delete(info.key);
    this.#unplace(info.key);
  }

  /** Forgets every assignment that the cache does not show: a new leader's cache has seen all that was ever written before. */
  forgetAll(): void {
    for (const key of this.#assumed.keys()) this.#unplace(key);
    this.#assumed.clear();
  }

  isAssumed(key: string): boolean {
    return this.#assumed.has(key);
  }

  /** The node that a pod is assumed to be on; undefined when the cache shows its state. */
  assumedNode(info: PodInfo): string | undefined {
    const assumed = this.#assumed.get(info.key);
    return assumed?.uid === info.uid ? assumed.nodeName : undefined;
  }

  /** By node. A pod that was assigned counts on its node alone. */
  #nominations(): ReadonlyMap<string, readonly PodInfo[]> {
    const byNode = new Map<string, PodInfo[]>();
    for (const [key, info] of this.#nominated) {
      if (this.#placed.has(key)) continue;
      const nodeName = nominatedNode(info);
      const others = byNode.get(nodeName);
      if (others === undefined) byNode.set(nodeName, [info]);
      else others.push(info);
    }
    return byNode;
  }

  #place(nodeName: string, info: PodInfo): void {
    this.#placed.set(info.key, { nodeName, info });
    const node = this.#nodes.get(nodeName);
    if (node !== undefined) this.#put(withPod(node, info));
  }

  #unplace(key: string): void {
    const placed = this.#placed.get(key);
    if (placed === undefined) return;
    this.#placed.delete(key);
    const node = this.#nodes.get(placed.nodeName);
    if (node !== undefined) this.#put(withoutPod(node, key));
  }

  #put(node: NodeInfo): void {
    this.#nodes.set(node.name, node);
    this.#snapshot = undefined;
  }
}

/** The nodes of a cycle with the pods that are counted on them. Where pods are assigned, `nodes` change as `replace` is told. */
export class CountedNodes {
  readonly nodes: readonly NodeInfo[];
  /** The nodes by name, once that is asked for. */
  #byName: Map<string, NodeInfo> | undefined;

  constructor(nodes: readonly NodeInfo[]) {
    this.nodes = nodes;
  }

  /** One of the nodes has another pod from now on, which is counted. */
  replace(node: NodeInfo): void {
    this.#byName?.set(node.name, node);
  }

  /** The pods that a node has in thought and that are not counted on it, and the other way round; undefined when it is as it is counted. */
  differenceOn(node: NodePods, among: 'pods' | 'withTerms'): PodDifference | undefined {
    this.#byName ??= new Map(this.nodes.map((one) => [one.name, one]));
    const counted = this.#byName.get(node.name);
    if (counted === undefined || counted[among] === node[among]) return undefined;
    const missing = (pods: ReadonlyMap<string, PodInfo>, from: ReadonlyMap<string, PodInfo>) =>
      [...pods.values()].filter((pod) => from.get(pod.key) !== pod);
    return { added: missing(node[among], counted[among]), removed: missing(counted[among], node[among]) };
  }
}
