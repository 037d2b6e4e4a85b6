import type { Exclusion } from './explain.ts';
import { type FilterPlugin, type Refusal, refusalOf } from './framework/plugin.ts';
import type { PodInfo } from './framework/pod-info.ts';
import { indexOfNode, type NodeInfo } from './framework/snapshot.ts';

/** The search for nodes ends once it has found this many that fit, or this share of all nodes if that is more. */
const ENOUGH_NODES = 100;
const SHARE_OF_NODES = 0.1;

export interface Candidate {
  readonly node: NodeInfo;
  readonly index: number;
}

/** The nodes where a pod fits together with the pods that are nominated to them. */
export interface Search {
  readonly feasible: readonly Candidate[];
  readonly refusals: readonly Refusal[];
  /** Why some nodes were not looked at. Absent when all nodes were candidates. */
  readonly exclusion?: Exclusion;
}

/** A search that equal pods share. */
interface Shared extends Search {
  /** How many changes of nodes the search knows. */
  readonly changes: number;
}

/**
 * Searches nodes for the pods of one cycle. Pods that no filter distinguishes (`FilterPlugin.sign`) share one search: for the second one, only
 * the nodes that got a pod since then are looked at again. Kubernetes calls this opportunistic batching.
 */
export class NodeSearch {
  readonly #nodes: readonly NodeInfo[];
  readonly #filters: readonly FilterPlugin[];
  readonly #enough: number;
  /** By the pods' signature. */
  readonly #shared = new Map<string, Shared>();
  /** The indexes of the nodes that got pods, in this order. */
  readonly #changes: number[] = [];

  /** The caller replaces nodes that get pods, and reports this with `changed`. */
  constructor(nodes: readonly NodeInfo[], filters: readonly FilterPlugin[]) {
    this.#nodes = nodes;
    this.#filters = filters;
    this.#enough = Math.max(ENOUGH_NODES, Math.ceil(nodes.length * SHARE_OF_NODES));
  }

  /** Reports that a node has one more pod. */
  changed(index: number): void {
    this.#changes.push(index);
  }

  /**
   * Finds the nodes where a pod fits. `nominated` returns the pods that are nominated to a node, for which room is reserved there; it is
   * undefined when no pod is nominated. The search begins at the index `start`, from 0 to the number of nodes less one.
   */
  find(pod: PodInfo, nominated: ((nodeName: string) => readonly PodInfo[]) | undefined, start: number): Search {
    const restriction = restrictionOf(pod, this.#filters);
    if (restriction !== undefined) {
      const { names, exclusion } = restriction;
      const named = names.map((name) => indexOfNode(this.#nodes, name)).filter((index) => index >= 0);
      return { ...this.#look(pod, named, nominated), exclusion };
    }
    const { length } = this.#nodes;
    const all = function* () {
      for (let i = 0; i < length; i++) yield (start + i) % length;
    };
    const signature = nominated === undefined ? signatureOf(pod, this.#filters) : undefined;
    if (signature === undefined) return this.#look(pod, all(), nominated);
    const known = this.#shared.get(signature);
    const search = (known && this.#renew(pod, known)) ?? this.#look(pod, all(), undefined);
    this.#shared.set(signature, { ...search, changes: this.#changes.length });
    return search;
  }

  #look(
    pod: PodInfo,
    indexes: Iterable<number>,
    nominated: ((nodeName: string) => readonly PodInfo[]) | undefined,
  ): Search {
    const feasible: Candidate[] = [];
    const refusals: Refusal[] = [];
    for (const index of indexes) {
      if (feasible.length >= this.#enough) break;
      const node = this.#nodes[index];
      if (node === undefined) continue;
      const refusal = refusalOf(pod, node, nominated?.(node.name) ?? NONE, this.#filters);
      if (refusal === undefined) feasible.push({ node, index });
      else refusals.push(refusal);
    }
    return { feasible, refusals };
  }

  /** Looks again at the nodes of an earlier search that got pods since. Returns undefined when too few nodes are left. */
  #renew(pod: PodInfo, { feasible: before, refusals: refusedBefore, changes }: Shared): Search | undefined {
    const changed = new Set(this.#changes.slice(changes));
    if (changed.size === 0) return { feasible: before, refusals: refusedBefore };
    const feasible: Candidate[] = [];
    const refusals: Refusal[] = [];
    const again = (index: number) => {
      const node = this.#nodes[index];
      if (node === undefined) return;
      const refusal = refusalOf(pod, node, NONE, this.#filters);
      if (refusal === undefined) feasible.push({ node, index });
      else refusals.push(refusal);
    };
    for (const candidate of before) {
      if (changed.has(candidate.index)) again(candidate.index);
      else feasible.push(candidate);
    }
    const names = new Set([...changed].map((index) => this.#nodes[index]?.name));
    for (const refusal of refusedBefore) {
      if (names.has(refusal.node.name)) again(indexOfNode(this.#nodes, refusal.node.name));
      else refusals.push(refusal);
    }
    const hasSeenAll = before.length + refusedBefore.length >= this.#nodes.length;
    return hasSeenAll || feasible.length >= this.#enough ? { feasible, refusals } : undefined;
  }
}

const NONE: readonly PodInfo[] = [];

/** Equal for pods that no filter distinguishes. Returns undefined when a filter has no signature for the pod. */
function signatureOf(pod: PodInfo, filters: readonly FilterPlugin[]): string | undefined {
  const signs: string[] = [];
  for (const { sign } of filters) {
    const one = sign?.(pod);
    if (one === undefined) return undefined;
    signs.push(one);
  }
  return signs.join('\n');
}

/**
 * The names of the nodes that the filters restrict the pod to. So a pod of a DaemonSet is planned without a look at the other nodes.
 * Returns undefined when there is no restriction.
 */
function restrictionOf(
  pod: PodInfo,
  filters: readonly FilterPlugin[],
): { readonly names: readonly string[]; readonly exclusion: Exclusion } | undefined {
  let names: readonly string[] | undefined;
  const plugins: string[] = [];
  for (const { name, conflict } of filters) {
    const reason = conflict?.(pod);
    if (reason !== undefined) return { names: [], exclusion: { plugins: [name], conflict: reason } };
  }
  for (const { name, nodeNames, noNodeReason } of filters) {
    const allowed = nodeNames?.(pod);
    if (allowed === undefined) continue;
    plugins.push(name);
    if (allowed.size === 0) return { names: [], exclusion: { plugins: [name], conflict: noNodeReason } };
    names = names?.filter((one) => allowed.has(one)) ?? [...allowed];
  }
  return names === undefined ? undefined : { names, exclusion: { plugins } };
}
