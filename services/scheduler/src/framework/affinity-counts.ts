import { type AffinityTerm, allSelect, type NamespaceLabels, type PodAffinity, selects } from './pod-affinity.ts';
import type { ByValue, MatchCount, Neighbours, PodInfo, TermCount } from './pod-info.ts';
import type { NodeInfo } from './node-info.ts';
import { addTo, KeptCounts, KeyIndex, labelKeys, selectorKeys } from './kept-counts.ts';

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

/** The sums of terms that pods on nodes have. Equal terms are counted together. */
class TermSums {
  readonly #sums = new Map<string, TermSum>();
  readonly #bySelector = new KeyIndex<TermSum>();

  /** Counts a term of a pod on a node, or no longer. A term that no pod has any more is forgotten. */
  count(term: AffinityTerm, node: NodeInfo, by: 1 | -1, weight: number): void {
    const sum = this.#sums.get(term.id) ?? this.#add(term);
    sum.holders += by;
    sum.add(node, by * weight);
    if (sum.holders !== 0) return;
    this.#sums.delete(term.id);
    this.#bySelector.delete(sum, selectorKeys(sum.term.selector));
  }

  selecting({ pod }: PodInfo, namespaces: NamespaceLabels): readonly TermSum[] {
    return this.#bySelector.among(labelKeys(pod)).filter(({ term }) => selects(term, pod, namespaces));
  }

  #add(term: AffinityTerm): TermSum {
    const sum = new TermSum(term);
    this.#sums.set(term.id, sum);
    this.#bySelector.add(sum, selectorKeys(term.selector));
    return sum;
  }
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

  get domains(): number {
    return this.byTerm.reduce((sum, { size }) => sum + size, 0);
  }

  get keys(): readonly string[] {
    return selectorKeys(this.terms[0]?.selector);
  }

  countPod({ pod }: PodInfo, node: NodeInfo, by: 1 | -1, namespaces: NamespaceLabels): void {
    if (allSelect(this.terms, pod, namespaces)) for (const sum of this.#sums) sum.add(node, by);
  }
}

/**
 * Counts pods by domains, and follows each pod that comes to a node or leaves it. The terms of pods on nodes are always counted, and equal
 * terms are counted together. Pods that match the terms of a waiting pod are counted when such a pod is decided on first.
 */
export class AffinityCounts {
  readonly #namespaces: NamespaceLabels;
  readonly #forbidding = new TermSums();
  readonly #preferring = new TermSums();
  /** By the ids of the terms. */
  readonly #matching = new KeptCounts<MatchSum>((count) => this.#matchingByKey.delete(count, count.keys));
  readonly #matchingByKey = new KeyIndex<MatchSum>();
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
    for (const term of forbidden) this.#forbidding.count(term, node, by, 1);
    for (const { term, weight } of preferred) this.#preferring.count(term, node, by, weight);
    for (const term of required) this.#preferring.count(term, node, by, REQUIRED_WEIGHT);
    for (const count of this.#matchingByKey.among(labelKeys(pod.pod))) count.countPod(pod, node, by, this.#namespaces);
  }

  /** Forgets the counts that depend on the labels of namespaces. */
  forgetNamespaces(): void {
    this.#matching.forget(({ terms }) => terms.some(({ namespaceSelector }) => !namespaceSelector.nothing));
  }

  /**
   * Returns the pod with its neighbours on the nodes, or unchanged when no term concerns it. `nominatedTerms` says whether any pod that is
   * nominated to a node has terms: such a pod is on no node yet, so its terms are not counted.
   */
  withNeighbours(info: PodInfo, nodes: readonly NodeInfo[], nominatedTerms = false): PodInfo {
    const { affinity } = info;
    const forbiddenByOthers = this.#forbidding.selecting(info, this.#namespaces);
    const preferredByOthers = this.#preferring.selecting(info, this.#namespaces);
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

  #matchesOf(terms: readonly AffinityTerm[], nodes: readonly NodeInfo[]): MatchSum {
    return this.#matching.get(terms.map((term) => term.id).join(), () => {
      const count = new MatchSum(terms);
      for (const node of nodes) {
        for (const pod of node.pods.values()) count.countPod(pod, node, 1, this.#namespaces);
        this.#compared += node.pods.size * terms.length;
      }
      this.#matchingByKey.add(count, count.keys);
      return count;
    });
  }
}

const NO_TERMS: PodAffinity = { required: [], forbidden: [], preferred: [] };
