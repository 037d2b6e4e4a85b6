import {
  addAmounts,
  type Amounts,
  equalJson,
  hasEnded,
  NO_AMOUNTS,
  type Node,
  parseAmounts,
  type Pod,
  type PodDisruptionBudget,
  type Service,
  subtractAmounts,
} from '@gantry/objects';
import type { Labels, NamespaceLabels } from './pod-affinity.ts';
import { createPodInfo, type NodePods, nominatedNode, type PodInfo, type RankedAmounts } from './pod-info.ts';
import { selectorsOfServices, type ServiceSelectors } from './topology-spread.ts';

/** A node with its pods. Immutable, but see `OwnedNodes`. */
export interface NodeInfo extends NodePods {
  readonly node: Node;
  readonly allocatable: Amounts;
  readonly requested: Amounts;
  /** The sum of the pods' `ranked`. */
  readonly ranked: RankedAmounts;
  /** The sizes in bytes of the images that the node reports, by name. */
  readonly images: ReadonlyMap<string, number>;
}

const NO_PODS: ReadonlyMap<string, PodInfo> = new Map();

/** The cluster at one moment, with its nodes sorted by name. Immutable. Snapshots share the parts that did not change between them. */
export interface ClusterSnapshot {
  readonly nodes: readonly NodeInfo[];
  /** The pods that have no node yet but are nominated to one, by that node's name. Room is reserved for them there. */
  readonly nominated: ReadonlyMap<string, readonly PodInfo[]>;
  readonly budgets: readonly PodDisruptionBudget[];
  readonly namespaces: NamespaceLabels;
  readonly services: ServiceSelectors;
  /** How many nodes have an image, by its name. */
  readonly imageHolders: ReadonlyMap<string, number>;
}

/** Returns `node` with one more pod, which is not counted. */
export function withPod(node: NodeInfo, pod: PodInfo): NodeInfo {
  const { counted = node } = node;
  const pods = new Map(node.pods).set(pod.key, pod);
  const withTerms = pod.affinity === undefined ? node.withTerms : new Map(node.withTerms).set(pod.key, pod);
  return { ...node, counted, pods, withTerms, ...sumsWith(node, pod) };
}

function sumsWith({ requested, ranked }: NodeInfo, pod: PodInfo): Pick<NodeInfo, 'requested' | 'ranked'> {
  return {
    requested: addAmounts(requested, pod.requests),
    ranked: { cpu: ranked.cpu + pod.ranked.cpu, memory: ranked.memory + pod.ranked.memory },
  };
}

function sumsWithout({ requested, ranked }: NodeInfo, pod: PodInfo): Pick<NodeInfo, 'requested' | 'ranked'> {
  return {
    requested: subtractAmounts(requested, pod.requests),
    ranked: { cpu: ranked.cpu - pod.ranked.cpu, memory: ranked.memory - pod.ranked.memory },
  };
}

/**
 * Nodes whose maps of pods this owner has copied, so that it may change them in place. Without it, each pod on a node with many pods would
 * cost a copy of all of them. Who gets the nodes from here sees the maps change until `release`.
 */
export class OwnedNodes {
  readonly #maps = new Map<string, { readonly pods: Map<string, PodInfo>; readonly withTerms: Map<string, PodInfo> }>();

  add(node: NodeInfo, pod: PodInfo): NodeInfo {
    const { pods, withTerms } = this.#own(node);
    pods.set(pod.key, pod);
    if (pod.affinity !== undefined) withTerms.set(pod.key, pod);
    return { ...node, pods, withTerms, ...sumsWith(node, pod) };
  }

  remove(node: NodeInfo, key: string): NodeInfo {
    const gone = node.pods.get(key);
    if (gone === undefined) return node;
    const { pods, withTerms } = this.#own(node);
    pods.delete(key);
    withTerms.delete(key);
    return { ...node, pods, withTerms, ...sumsWithout(node, gone) };
  }

  /** From now on the nodes do not change. */
  release(): void {
    this.#maps.clear();
  }

  #own({ name, pods, withTerms }: NodeInfo) {
    const known = this.#maps.get(name);
    if (known?.pods === pods) return known;
    const own = { pods: new Map(pods), withTerms: new Map(withTerms) };
    this.#maps.set(name, own);
    return own;
  }
}

/** The index of a node in `nodes`, which have to be sorted by name. Returns -1 when there is none of this name. */
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

/** A pod that was assigned to a node, while the cache does not show that yet. */
interface Assumed {
  readonly uid: string;
  readonly nodeName: string;
}

/**
 * Keeps the snapshot up to date with each change. After `assume`, an assigned pod counts on its node until the cache shows the assignment,
 * or until `forget` says that the assignment has failed.
 */
export class SnapshotKeeper {
  readonly #nodes = new Map<string, NodeInfo>();
  /** The name of each pod's node, by the pod's key. The node may not exist yet. */
  readonly #placed = new Map<string, { readonly nodeName: string; readonly info: PodInfo }>();
  readonly #assumed = new Map<string, Assumed>();
  /** The waiting pods that are nominated to a node, by key. */
  readonly #nominated = new Map<string, PodInfo>();
  readonly #budgets = new Map<string, PodDisruptionBudget>();
  readonly #namespaces = new Map<string, Labels>();
  readonly #imageHolders = new Map<string, number>();
  readonly #services = new Map<string, Service>();
  /** What snapshots share until it changes. */
  #sharedNamespaces: NamespaceLabels | undefined;
  #sharedHolders: ReadonlyMap<string, number> | undefined;
  #sharedServices: ServiceSelectors | undefined;
  #snapshot: ClusterSnapshot | undefined;
  /** The nodes by name, as snapshots have them. Undefined after a node was added or removed. */
  #sorted: NodeInfo[] | undefined;
  /** The nodes that have changed since the last snapshot. */
  readonly #owned = new OwnedNodes();

  /** Returns the current snapshot. This is cheap when nothing has changed. */
  snapshot(): ClusterSnapshot {
    if (this.#snapshot === undefined) this.#owned.release();
    this.#sorted ??= [...this.#nodes.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    this.#snapshot ??= {
      nodes: [...this.#sorted],
      nominated: this.#nominations(),
      budgets: [...this.#budgets.values()],
      namespaces: (this.#sharedNamespaces ??= new Map(this.#namespaces)),
      services: (this.#sharedServices ??= selectorsOfServices(this.#services.values())),
      imageHolders: (this.#sharedHolders ??= new Map(this.#imageHolders)),
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
    const images = this.#replaceImages(known, node);
    if (known !== undefined) {
      this.#put({ ...known, node, allocatable, images });
      return;
    }
    const empty = { requested: NO_AMOUNTS, ranked: { cpu: 0, memory: 0 }, pods: NO_PODS, withTerms: NO_PODS };
    let info: NodeInfo = { name, node, allocatable, images, ...empty };
    for (const placed of this.#placed.values()) if (placed.nodeName === name) info = this.#owned.add(info, placed.info);
    this.#sorted = undefined;
    this.#put(info);
  }

  removeNode(name: string): void {
    const gone = this.#nodes.get(name);
    if (gone === undefined) return;
    this.#countImages(gone.images, -1);
    this.#nodes.delete(name);
    this.#sorted = undefined;
    this.#snapshot = undefined;
  }

  /** Takes a waiting pod's nomination from its status. `undefined` means that the pod does not wait any more. */
  setNomination(key: string, info: PodInfo | undefined): void {
    const isNominated = info !== undefined && nominatedNode(info) !== '';
    if (isNominated) this.#nominated.set(key, info);
    else if (!this.#nominated.delete(key)) return;
    this.#snapshot = undefined;
  }

  /** The waiting pod with this key when it is nominated to a node, or else undefined. */
  nominated(key: string): PodInfo | undefined {
    return this.#nominated.get(key);
  }

  setBudget(key: string, budget: PodDisruptionBudget | undefined): void {
    if (budget === undefined) this.#budgets.delete(key);
    else this.#budgets.set(key, budget);
    this.#snapshot = undefined;
  }

  /** Takes the selector of a Service. `undefined` means that it is gone. */
  setService(key: string, service: Service | undefined): void {
    if (service === undefined) this.#services.delete(key);
    else this.#services.set(key, service);
    this.#sharedServices = undefined;
    this.#snapshot = undefined;
  }

  /** Sets the labels of a namespace. `undefined` means that it is gone. */
  setNamespace(name: string, labels: Labels | undefined): void {
    if (labels === undefined) this.#namespaces.delete(name);
    else this.#namespaces.set(name, labels);
    this.#sharedNamespaces = undefined;
    this.#snapshot = undefined;
  }

  /** The current labels of the namespaces. */
  get namespaces(): NamespaceLabels {
    return this.#namespaces;
  }

  /** The pod with this key as it counts on its node, or undefined when it counts on none. */
  placed(key: string): PodInfo | undefined {
    return this.#placed.get(key)?.info;
  }

  /** Whether `holds` is true for any pod on a node whose key is different. */
  hasOther(key: string, holds: (pod: PodInfo) => boolean): boolean {
    for (const [other, { info }] of this.#placed) if (other !== key && holds(info)) return true;
    return false;
  }

  /** Takes a pod from the cache. A version without a node is ignored while the pod is assumed to be on one. */
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

  /** Takes back an assignment that has certainly failed. It has no effect once the cache shows the pod's node. */
  forget(info: PodInfo): void {
    if (this.#assumed.get(info.key)?.uid !== info.uid) return;
    this.#assumed.delete(info.key);
    this.#unplace(info.key);
  }

  /** Forgets every assignment that the cache does not show. A new leader's cache has seen everything that was written before. */
  forgetAll(): void {
    for (const key of this.#assumed.keys()) this.#unplace(key);
    this.#assumed.clear();
  }

  isAssumed(key: string): boolean {
    return this.#assumed.has(key);
  }

  /** The name of the node that a pod is assumed to be on. Returns undefined when the cache shows the pod's state. */
  assumedNode(info: PodInfo): string | undefined {
    const assumed = this.#assumed.get(info.key);
    return assumed?.uid === info.uid ? assumed.nodeName : undefined;
  }

  /** The nominated pods by node. A pod that was assigned is left out, since it counts only on the node that it is assigned to. */
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

  /** Returns the images of a node, which count from now on instead of those of its earlier version. */
  #replaceImages(known: NodeInfo | undefined, node: Node): ReadonlyMap<string, number> {
    const { images = [] } = node.status ?? {};
    if (known !== undefined && equalJson(known.node.status?.images ?? [], images)) return known.images;
    const sizes = new Map(
      images.flatMap(({ names = [], sizeBytes = 0 }) => names.map((name) => [name, sizeBytes] as const)),
    );
    if (known !== undefined) this.#countImages(known.images, -1);
    this.#countImages(sizes, 1);
    return sizes;
  }

  #countImages(images: ReadonlyMap<string, number>, by: 1 | -1): void {
    for (const name of images.keys()) {
      const count = (this.#imageHolders.get(name) ?? 0) + by;
      if (count === 0) this.#imageHolders.delete(name);
      else this.#imageHolders.set(name, count);
    }
    this.#sharedHolders = undefined;
  }

  #place(nodeName: string, info: PodInfo): void {
    this.#placed.set(info.key, { nodeName, info });
    const node = this.#nodes.get(nodeName);
    if (node !== undefined) this.#put(this.#owned.add(node, info));
  }

  #unplace(key: string): void {
    const placed = this.#placed.get(key);
    if (placed === undefined) return;
    this.#placed.delete(key);
    const node = this.#nodes.get(placed.nodeName);
    if (node !== undefined) this.#put(this.#owned.remove(node, key));
  }

  #put(node: NodeInfo): void {
    this.#nodes.set(node.name, node);
    this.#snapshot = undefined;
    if (this.#sorted !== undefined) this.#sorted[indexOfNode(this.#sorted, node.name)] = node;
  }
}
