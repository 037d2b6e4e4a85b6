import { type AffinityTerm, allSelect, type NamespaceLabels, type PodAffinity, selects } from './pod-affinity.ts';
import type { ByValue, MatchCount, Neighbours, PodInfo, TermCount } from './pod-info.ts';
import type { NodeInfo } from './node-info.ts';

/**
 * How much the required affinity of pods on nodes weighs when nodes are ranked. This is the default of `hardPodAffinityWeight` in
 * Kubernetes.
 */
const REQUIRED_WEIGHT = 1;

/** The domain that a node belongs to for a term or constraint. Returns undefined when the node has no such label. */
export function domainOf(
  { topologyKey }: Pick<AffinityTerm, 'topologyKey'>,
  { node }: Pick<NodeInfo, 'node'>,
): string | undefined {
  // What every object inherits, such as `constructor`, is no string.
  const value: unknown = node.metadata.labels?.[topologyKey];
  return typeof value === 'string' ? value : undefined;
}

/** A sum for each domain of a term. */
class TermSum implements TermCount {
  readonly term: AffinityTerm;
  /** Without sums of zero. */
  readonly byValue = new Map<string, number>();
  /** The number of pods that have the term. */
  holders = 0;

  constructor(term: AffinityTerm) {
    this.term = term;
  }

  add(node: NodeInfo, amount: number): void {
    const value = domainOf(this.term, node);
    if (value !== undefined) addTo(this.byValue, value, amount);
  }
}

/** Adds to a sum. Sums of zero are left out. */
export function addTo<K>(sums: Map<K, number>, key: K, amount: number): void {
  const sum = (sums.get(key) ?? 0) + amount;
  if (sum === 0) sums.delete(key);
  else sums.set(key, sum);
}

class MatchSum implements MatchCount {
  readonly terms: readonly AffinityTerm[];
  readonly byTerm: readonly ByValue[];
  readonly #sums: readonly TermSum[];

  constructor(terms: readonly AffinityTerm[]) {
    this.terms = terms;
    this.#sums = terms.map((term) => new TermSum(term));
    this.byTerm = this.#sums.map(({ byValue }) => byValue);
  }

  countPod({ pod }: PodInfo, node: NodeInfo, by: 1 | -1, namespaces: NamespaceLabels): void {
    if (allSelect(this.terms, pod, namespaces)) for (const sum of this.#sums) sum.add(node, by);
  }
}

/** How many counts outlive a cycle, at least as many as a cycle has pods. Those that were asked for last are kept. */
export const KEPT_COUNTS = 128;

/**
 * Counts pods by domains, and follows each pod that comes to a node or leaves it. The terms of pods on nodes are always counted, and equal
 * terms are counted together. Pods that match the terms of a waiting pod are counted when such a pod is decided on first.
 */
export class AffinityCounts {
  readonly #namespaces: NamespaceLabels;
  readonly #forbidding = new Map<string, TermSum>();
  readonly #preferring = new Map<string, TermSum>();
  /** By the ids of the terms. The one that was asked for longest ago is the first. */
  readonly #matching = new Map<string, MatchSum>();
  #compared = 0;

  /** The labels of the namespaces may change. The caller reports this with `forgetNamespaces`. */
  constructor(namespaces: NamespaceLabels) {
    this.#namespaces = namespaces;
  }

  /** The number of comparisons so far between a pod and the terms of a waiting pod. */
  get compared(): number {
    return this.#compared;
  }

  /** Counts a pod on a node from now on, or no longer. */
  countPod(pod: PodInfo, node: NodeInfo, by: 1 | -1): void {
    const { required, forbidden, preferred } = pod.affinity ?? NO_TERMS;
    for (const term of forbidden) countTerm(this.#forbidding, term, node, { by, weight: 1 });
    for (const { term, weight } of preferred) countTerm(this.#preferring, term, node, { by, weight });
    for (const term of required) countTerm(this.#preferring, term, node, { by, weight: REQUIRED_WEIGHT });
    for (const count of this.#matching.values()) count.countPod(pod, node, by, this.#namespaces);
  }

  /** Forgets the counts that depend on the labels of namespaces. */
  forgetNamespaces(): void {
    for (const [id, { terms }] of this.#matching)
      if (terms.some(({ namespaceSelector }) => !namespaceSelector.nothing)) this.#matching.delete(id);
  }

  /**
   * Returns the pod with its neighbours on the nodes, or unchanged when no term concerns it. `nominatedTerms` says whether any pod that is
   * nominated to a node has terms: such a pod is on no node yet, so its terms are not counted.
   */
  withNeighbours(info: PodInfo, nodes: readonly NodeInfo[], nominatedTerms = false): PodInfo {
    const { affinity } = info;
    const forbiddenByOthers = this.#selecting(this.#forbidding, info);
    const preferredByOthers = this.#selecting(this.#preferring, info);
    const isConcerned = affinity !== undefined || nominatedTerms;
    if (!isConcerned && forbiddenByOthers.length === 0 && preferredByOthers.length === 0) return info;
    const { required, forbidden, preferred } = affinity ?? NO_TERMS;
    const neighbours: Neighbours = {
      namespaces: this.#namespaces,
      required: required.length === 0 ? undefined : this.#matchesOf(required, nodes),
      forbidden: forbidden.map((term) => this.#matchesOf([term], nodes)),
      forbiddenByOthers,
      preferred: preferred.map(({ term, weight }) => ({ count: this.#matchesOf([term], nodes), weight })),
      preferredByOthers,
    };
    return { ...info, neighbours };
  }

  #selecting(sums: ReadonlyMap<string, TermSum>, { pod }: PodInfo): readonly TermSum[] {
    if (sums.size === 0) return [];
    return [...sums.values()].filter(({ term }) => selects(term, pod, this.#namespaces));
  }

  #matchesOf(terms: readonly AffinityTerm[], nodes: readonly NodeInfo[]): MatchSum {
    return kept(this.#matching, terms.map((term) => term.id).join(), () => {
      const count = new MatchSum(terms);
      for (const node of nodes) {
        for (const pod of node.pods.values()) count.countPod(pod, node, 1, this.#namespaces);
        this.#compared += node.pods.size * terms.length;
      }
      return count;
    });
  }
}

/** Returns the count with this id, which is made if it is not known. The count that was asked for longest ago may be forgotten. */
export function kept<T>(counts: Map<string, T>, id: string, make: () => T): T {
  const count = counts.get(id) ?? make();
  counts.delete(id);
  counts.set(id, count);
  const [oldest = id] = counts.size > KEPT_COUNTS ? counts.keys() : [];
  if (oldest !== id) counts.delete(oldest);
  return count;
}

const NO_TERMS: PodAffinity = { required: [], forbidden: [], preferred: [] };

/** Counts a term of a pod on a node, or no longer. A term that no pod has any more is forgotten. */
function countTerm(
  sums: Map<string, TermSum>,
  term: AffinityTerm,
  node: NodeInfo,
  { by, weight }: { readonly by: 1 | -1; readonly weight: number },
): void {
  const sum = sums.get(term.id) ?? new TermSum(term);
  sum.holders += by;
  sum.add(node, by * weight);
  if (sum.holders === 0) sums.delete(term.id);
  else sums.set(term.id, sum);
}
