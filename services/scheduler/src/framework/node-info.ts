import { addAmounts, type Amounts, type Node, subtractAmounts } from '@gantry/objects';
import type { NodePods, PodInfo, RankedAmounts } from './pod-info.ts';

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
