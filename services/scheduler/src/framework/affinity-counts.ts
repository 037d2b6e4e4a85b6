import { type AffinityTerm, allSelect, type NamespaceLabels, type PreferredTerm, selects } from './pod-affinity.ts';
import type { ByValue, MatchCount, Neighbours, PodInfo, TermCount } from './pod-info.ts';
import type { ClusterSnapshot, NodeInfo } from './snapshot.ts';

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
  const labels = node.metadata.labels ?? {};
  return Object.hasOwn(labels, topologyKey) ? labels[topologyKey] : undefined;
}

/** A sum for each domain of a term, which grows as pods are added. */
class TermSum implements TermCount {
  readonly term: AffinityTerm;
  readonly byValue = new Map<string, number>();

  constructor(term: AffinityTerm) {
    this.term = term;
  }

  add(node: NodeInfo, amount: number): void {
    const value = domainOf(this.term, node);
    if (value !== undefined) this.byValue.set(value, (this.byValue.get(value) ?? 0) + amount);
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

  add({ pod }: PodInfo, node: NodeInfo, namespaces: NamespaceLabels): void {
    if (allSelect(this.terms, pod, namespaces)) for (const sum of this.#sums) sum.add(node, 1);
  }
}

/**
 * Counts pods by domains during one cycle. The terms of pods on nodes are counted at the start, and equal terms are counted together. Pods
 * that match the terms of a waiting pod are counted when that pod is decided on, once for all pods with the same terms. A pod without terms
 * causes no comparison.
 */
export class AffinityCounts {
  readonly #namespaces: NamespaceLabels;
  readonly #nodes: readonly NodeInfo[];
  readonly #forbidding = new Map<string, TermSum>();
  readonly #preferring = new Map<string, TermSum>();
  /** The keys are the ids of the terms. */
  readonly #matching = new Map<string, MatchSum>();
  /** Whether any pod that is nominated to a node has terms. Such a pod is on no node yet, so its terms are not counted. */
  #nominatedTerms: boolean;
  #compared = 0;

  /** The caller replaces nodes that get pods, and reports this with `assign`. */
  constructor(nodes: readonly NodeInfo[], { namespaces, nominated }: ClusterSnapshot) {
    this.#nodes = nodes;
    this.#namespaces = namespaces;
    this.#nominatedTerms = [...nominated.values()].some((pods) => pods.some(({ affinity }) => affinity !== undefined));
    for (const node of nodes)
      if (node.withTerms.size > 0) for (const pod of node.withTerms.values()) this.#addTerms(pod, node);
  }

  /** The number of comparisons so far between a pod and the terms of a waiting pod. */
  get compared(): number {
    return this.#compared;
  }

  /** Counts a pod on a node from now on. `node` contains the pod already. */
  assign(pod: PodInfo, node: NodeInfo): void {
    this.#addTerms(pod, node);
    for (const count of this.#matching.values()) count.add(pod, node, this.#namespaces);
  }

  /** Notes that a pod is nominated to a node from now on. */
  nominate({ affinity }: PodInfo): void {
    this.#nominatedTerms ||= affinity !== undefined;
  }

  /** Returns the pod with its neighbours, or unchanged when no term concerns it. */
  withNeighbours(info: PodInfo): PodInfo {
    const { affinity } = info;
    const forbiddenByOthers = this.#selecting(this.#forbidding, info);
    const preferredByOthers = this.#selecting(this.#preferring, info);
    const isConcerned = affinity !== undefined || this.#nominatedTerms;
    if (!isConcerned && forbiddenByOthers.length === 0 && preferredByOthers.length === 0) return info;
    const { required = [], forbidden = [], preferred = [] } = affinity ?? {};
    const neighbours: Neighbours = {
      namespaces: this.#namespaces,
      required: required.length === 0 ? undefined : this.#matchesOf(required),
      forbidden: forbidden.map((term) => this.#matchesOf([term])),
      forbiddenByOthers,
      preferred: preferred.map(({ term, weight }) => ({ count: this.#matchesOf([term]), weight })),
      preferredByOthers,
    };
    return { ...info, neighbours };
  }

  #addTerms({ affinity }: PodInfo, node: NodeInfo): void {
    if (affinity === undefined) return;
    const { required, forbidden, preferred } = affinity;
    for (const term of forbidden) sumOf(this.#forbidding, term).add(node, 1);
    for (const { term, weight } of [...preferred, ...required.map(asPreferred)])
      sumOf(this.#preferring, term).add(node, weight);
  }

  #selecting(sums: ReadonlyMap<string, TermSum>, { pod }: PodInfo): readonly TermSum[] {
    if (sums.size === 0) return [];
    return [...sums.values()].filter(({ term }) => selects(term, pod, this.#namespaces));
  }

  #matchesOf(terms: readonly AffinityTerm[]): MatchSum {
    const id = terms.map((term) => term.id).join();
    const known = this.#matching.get(id);
    if (known !== undefined) return known;
    const count = new MatchSum(terms);
    for (const node of this.#nodes) {
      for (const pod of node.pods.values()) count.add(pod, node, this.#namespaces);
      this.#compared += node.pods.size * terms.length;
    }
    this.#matching.set(id, count);
    return count;
  }
}

function sumOf(sums: Map<string, TermSum>, term: AffinityTerm): TermSum {
  const known = sums.get(term.id);
  if (known !== undefined) return known;
  const sum = new TermSum(term);
  sums.set(term.id, sum);
  return sum;
}

function asPreferred(term: AffinityTerm): PreferredTerm {
  return { term, weight: REQUIRED_WEIGHT };
}
