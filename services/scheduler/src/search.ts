import type { Exclusion } from './explain.ts';
import { type FilterPlugin, type Refusal, refusalAsIs, refusalOf } from './framework/plugin.ts';
import type { PodInfo } from './framework/pod-info.ts';
import { indexOfNode, type NodeInfo } from './framework/node-info.ts';
import type { Selection } from './preemption/select-victims.ts';

/** The search for nodes ends once it has found this many that fit, or this share of all nodes if that is more. */
const ENOUGH_NODES = 100;
const SHARE_OF_NODES = 0.1;

/** The nodes where a pod fits together with the pods that are nominated to them. */
export interface Search {
  readonly feasible: readonly NodeInfo[];
  readonly refusals: readonly Refusal[];
  /** Why some nodes were not looked at. Absent when all nodes were candidates. */
  readonly exclusion?: Exclusion;
}

/** What the filters that do not distinguish a group of pods said of each node, in the order of the search. */
interface Verdicts {
  readonly shared: readonly FilterPlugin[];
  /** The filters that are asked for each pod. */
  readonly own: readonly FilterPlugin[];
  /** The nodes as they were when `shared` were asked. */
  readonly seen: (NodeInfo | undefined)[];
  /** Undefined where the pods fit. */
  readonly refusals: (Refusal | undefined)[];
  /** What preemption found on nodes. */
  readonly victims: Map<NodeInfo, Selection>;
  /** What `own` said for the last pod. */
  readonly others: (Refusal | undefined)[];
  /** Where the search begins. It is the same for all of them, so that they look at few nodes in total. */
  readonly start: number;
}

/**
 * Searches nodes for the pods of one cycle. For pods that a filter does not distinguish (`FilterPlugin.sign`), it is asked once about a node,
 * until the node changes. Kubernetes calls this opportunistic batching.
 */
export class NodeSearch {
  readonly #nodes: readonly NodeInfo[];
  readonly #filters: readonly FilterPlugin[];
  readonly #enough: number;
  /** By the pods' priority and signs. */
  readonly #verdicts = new Map<string, Verdicts>();

  /** The caller replaces nodes that get pods. */
  constructor(nodes: readonly NodeInfo[], filters: readonly FilterPlugin[]) {
    this.#nodes = nodes;
    this.#filters = filters;
    this.#enough = Math.max(ENOUGH_NODES, Math.ceil(nodes.length * SHARE_OF_NODES));
  }

  /**
   * Finds the nodes where a pod fits. `nominated` returns the pods that are nominated to a node, for which room is reserved there. For a pod
   * unlike those before, the search begins at the index `start`, from 0 to the number of nodes less one.
   */
  find(pod: PodInfo, nominated: (nodeName: string) => readonly PodInfo[], start: number): Search {
    const feasible: NodeInfo[] = [];
    const refusals: Refusal[] = [];
    const restriction = restrictionOf(pod, this.#filters);
    if (restriction !== undefined) {
      for (const name of restriction.names) {
        const node = this.#nodes[indexOfNode(this.#nodes, name)];
        if (node === undefined) continue;
        const refusal = refusalOf(pod, node, nominated(name), this.#filters);
        if (refusal === undefined) feasible.push(node);
        else refusals.push(refusal);
      }
      return { feasible, refusals, exclusion: restriction.exclusion };
    }
    const verdicts = this.#verdictsFor(pod, start);
    const { length } = this.#nodes;
    for (let i = 0; i < length && feasible.length < this.#enough; i++) {
      const node = this.#nodes[(verdicts.start + i) % length];
      if (node === undefined) continue;
      const more = nominated(node.name);
      const refusal =
        more.length > 0 ? refusalOf(pod, node, more, this.#filters) : this.#refusalBy(verdicts, pod, node, i);
      if (refusal === undefined) feasible.push(node);
      else refusals.push(refusal);
    }
    return { feasible, refusals };
  }

  /**
   * What preemption has found on nodes for pods of the same priority that no filter distinguishes, to be filled by the caller. Undefined when
   * a filter distinguishes this one.
   */
  victimsFor(pod: PodInfo): Map<NodeInfo, Selection> | undefined {
    const { own, victims } = this.#verdictsFor(pod, 0);
    return own.length === 0 ? victims : undefined;
  }

  /** Reports that pods are evicted from a node, and whether this changes what evictions from other nodes cost. */
  evicted(node: NodeInfo, changesOthers: boolean): void {
    for (const { victims } of this.#verdicts.values())
      if (changesOthers) victims.clear();
      else victims.delete(node);
  }

  #verdictsFor(pod: PodInfo, start: number): Verdicts {
    const signs = this.#filters.map(({ sign }) => sign?.(pod));
    const key = JSON.stringify([pod.priority, ...signs]);
    const known = this.#verdicts.get(key);
    if (known !== undefined) return known;
    const verdicts: Verdicts = {
      shared: this.#filters.filter((_, at) => signs[at] !== undefined),
      own: this.#filters.filter((_, at) => signs[at] === undefined),
      seen: [],
      refusals: [],
      others: [],
      victims: new Map(),
      start,
    };
    this.#verdicts.set(key, verdicts);
    return verdicts;
  }

  /** The refusal by the first filter that excludes the node. */
  #refusalBy({ shared, own, seen, refusals, others }: Verdicts, pod: PodInfo, node: NodeInfo, i: number) {
    if (seen[i] !== node) {
      seen[i] = node;
      refusals[i] = refusalAsIs(pod, node, shared);
    }
    const one = refusals[i];
    if (one !== undefined && this.#isBefore(one.filter, own[0])) return one;
    // Thousands of nodes may be refused for each pod, so their refusals are made once.
    const other = refusalAsIs(pod, node, own, others[i]);
    others[i] = other;
    if (one === undefined || other === undefined) return one ?? other;
    return this.#isBefore(one.filter, other.filter) ? one : other;
  }

  #isBefore(one: FilterPlugin, other: FilterPlugin | undefined): boolean {
    return other === undefined || this.#filters.indexOf(one) < this.#filters.indexOf(other);
  }
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
