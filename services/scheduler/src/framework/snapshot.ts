import {
  equalJson,
  hasEnded,
  NO_AMOUNTS,
  type Node,
  parseAmounts,
  type Pod,
  type PodDisruptionBudget,
  type Service,
} from '@gantry/objects';
import { AffinityCounts } from './affinity-counts.ts';
import { indexOfNode, type NodeInfo, OwnedNodes } from './node-info.ts';
import type { Labels, NamespaceLabels } from './pod-affinity.ts';
import { createPodInfo, nominatedNode, type PodInfo } from './pod-info.ts';
import { SpreadCounts } from './spread-counts.ts';
import { selectorsOfServices, type ServiceSelectors } from './topology-spread.ts';

const NO_PODS: ReadonlyMap<string, PodInfo> = new Map();

/**
 * The cluster at one moment, with its nodes sorted by name. Immutable, except that the counts follow the cluster. Snapshots share the parts
 * that did not change between them.
 */
export interface ClusterSnapshot {
  readonly nodes: readonly NodeInfo[];
  /** The pods that have no node yet but are nominated to one, by that node's name. Room is reserved for them there. */
  readonly nominated: ReadonlyMap<string, readonly PodInfo[]>;
  readonly budgets: readonly PodDisruptionBudget[];
  readonly namespaces: NamespaceLabels;
  readonly services: ServiceSelectors;
  /** How many nodes have an image, by its name. */
  readonly imageHolders: ReadonlyMap<string, number>;
  /** Pods by domains, as long as this is the newest snapshot. A cycle counts what it decides, and takes that back in the end. */
  readonly affinity: AffinityCounts;
  readonly spread: SpreadCounts;
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
  readonly #affinity = new AffinityCounts(this.#namespaces);
  readonly #spread = new SpreadCounts();

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
      affinity: this.#affinity,
      spread: this.#spread,
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
      const changed = { ...known, node, allocatable, images };
      const isSame =
        equalJson(known.node.metadata.labels ?? {}, node.metadata.labels ?? {}) &&
        equalJson(known.node.spec?.taints ?? [], node.spec?.taints ?? []);
      if (!isSame) this.#recountNode(known, changed);
      this.#put(changed);
      return;
    }
    const empty = { requested: NO_AMOUNTS, ranked: { cpu: 0, memory: 0 }, pods: NO_PODS, withTerms: NO_PODS };
    let info: NodeInfo = { name, node, allocatable, images, ...empty };
    for (const placed of this.#placed.values()) if (placed.nodeName === name) info = this.#owned.add(info, placed.info);
    this.#sorted = undefined;
    this.#put(info);
    this.#recountNode(undefined, info);
  }

  removeNode(name: string): void {
    const gone = this.#nodes.get(name);
    if (gone === undefined) return;
    this.#countImages(gone.images, -1);
    this.#recountNode(gone, undefined);
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
    this.#affinity.forgetNamespaces();
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
    if (node === undefined) return;
    this.#put(this.#owned.add(node, info));
    this.#countPod(info, node, 1);
  }

  #unplace(key: string): void {
    const placed = this.#placed.get(key);
    if (placed === undefined) return;
    this.#placed.delete(key);
    const node = this.#nodes.get(placed.nodeName);
    if (node === undefined) return;
    this.#put(this.#owned.remove(node, key));
    this.#countPod(placed.info, node, -1);
  }

  #countPod(pod: PodInfo, node: NodeInfo, by: 1 | -1): void {
    this.#affinity.countPod(pod, node, by);
    this.#spread.countPod(pod, node, by);
  }

  /** Counts a node with its pods, and its earlier version no longer. */
  #recountNode(before: NodeInfo | undefined, after: NodeInfo | undefined): void {
    if (before !== undefined) for (const pod of before.pods.values()) this.#affinity.countPod(pod, before, -1);
    if (after !== undefined) for (const pod of after.pods.values()) this.#affinity.countPod(pod, after, 1);
    this.#spread.replaceNode(before, after);
  }

  #put(node: NodeInfo): void {
    this.#nodes.set(node.name, node);
    this.#snapshot = undefined;
    if (this.#sorted !== undefined) this.#sorted[indexOfNode(this.#sorted, node.name)] = node;
  }
}
