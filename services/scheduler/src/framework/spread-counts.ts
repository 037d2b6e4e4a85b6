import { HOSTNAME_LABEL, type Pod } from '@gantry/objects';
import { domainOf } from './affinity-counts.ts';
import { addTo, KeptCounts, KeyIndex } from './kept-counts.ts';
import {
  type ByValue,
  differenceOn,
  type DomainCount,
  type PodDifference,
  type PodInfo,
  type Spreading,
} from './pod-info.ts';
import type { NodeInfo } from './node-info.ts';
import {
  countsFor,
  defaultSpreadOf,
  eligibility,
  type PodSpread,
  type ServiceSelectors,
  type SpreadConstraint,
} from './topology-spread.ts';

/** The fewest pods in any domain, in how many domains there are so few, and the fewest in the others (`Infinity` when there are none). */
interface Least {
  readonly count: number;
  readonly domains: number;
  readonly next: number;
}

/** The number of pods in each domain of a constraint. */
class DomainSum implements DomainCount {
  readonly constraint: SpreadConstraint;
  readonly #byValue = new Map<string, number>();
  /** The number of nodes in each domain. Without nodes, there is no domain. */
  readonly #nodes = new Map<string, number>();
  /** How many domains have so many pods. These are few numbers, also where each node is a domain. */
  readonly #domainsWith = new Map<number, number>();
  /** Undefined after a change, until it is computed again. It is cached because each pod that is decided on needs it for each node. */
  #least: Least | undefined;

  constructor(constraint: SpreadConstraint) {
    this.constraint = constraint;
  }

  get byValue(): ByValue {
    return this.#byValue;
  }

  countNode(value: string, by: 1 | -1): void {
    addTo(this.#nodes, value, by);
    if (!this.#nodes.has(value)) this.#set(value, undefined);
    else if (!this.#byValue.has(value)) this.#set(value, 0);
  }

  /** The domain has to have nodes. */
  countPods(value: string, amount: number): void {
    if (amount !== 0) this.#set(value, (this.#byValue.get(value) ?? 0) + amount);
  }

  leastBeside(value: string): number {
    this.#least ??= leastOf(this.#domainsWith);
    const { count, domains, next } = this.#least;
    return domains === 1 && this.#byValue.get(value) === count ? next : count;
  }

  #set(value: string, count: number | undefined): void {
    this.#least = undefined;
    const before = this.#byValue.get(value);
    if (before !== undefined) addTo(this.#domainsWith, before, -1);
    if (count === undefined) {
      this.#byValue.delete(value);
    } else {
      this.#byValue.set(value, count);
      addTo(this.#domainsWith, count, 1);
    }
  }
}

function leastOf(domainsWith: ReadonlyMap<number, number>): Least {
  let [count, next] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const one of domainsWith.keys()) {
    if (one < count) [count, next] = [one, count];
    else if (one < next) next = one;
  }
  return { count, domains: domainsWith.get(count) ?? 0, next };
}

/** The counts for the required or for the preferred constraints that a pod and others like it have. */
class ConstraintCounts {
  readonly sums: readonly DomainSum[];
  readonly #needed: readonly SpreadConstraint[];
  readonly #pod: Pod;

  /** Nodes have to have the labels of all `needed` constraints. */
  constructor(constraints: readonly SpreadConstraint[], pod: Pod, needed: readonly SpreadConstraint[] = constraints) {
    this.#needed = needed;
    this.#pod = pod;
    this.sums = constraints.map((constraint) => new DomainSum(constraint));
  }

  /**
   * Counts a node with its pods from now on, or no longer. Its domains are known as long as it counts, even when none of its pods does.
   * Returns how many comparisons were made.
   */
  countNode(node: NodeInfo, by: 1 | -1): number {
    const sums = this.#sumsOn(node);
    for (const { sum, value } of sums) {
      if (by === 1) sum.countNode(value, 1);
      let amount = 0;
      for (const other of node.pods.values()) amount += this.#amountOf(sum, other);
      sum.countPods(value, by * amount);
      if (by === -1) sum.countNode(value, -1);
    }
    return sums.length === 0 ? 1 : this.sums.length + node.pods.size * sums.length;
  }

  get domains(): number {
    return this.sums.reduce((sum, { byValue }) => sum + byValue.size, 0);
  }

  countPod(pod: PodInfo, node: NodeInfo, by: 1 | -1): void {
    if (this.sums.every((sum) => this.#amountOf(sum, pod) === 0)) return;
    for (const { sum, value } of this.#sumsOn(node)) sum.countPods(value, by * this.#amountOf(sum, pod));
  }

  /** For each constraint on a node, how many more of the added pods count than of the removed ones. */
  moreOn(node: Pick<NodeInfo, 'node'>, { added, removed }: PodDifference): ReadonlyMap<DomainCount, number> {
    const total = (sum: DomainSum, pods: readonly PodInfo[]) =>
      pods.reduce((amount, pod) => amount + this.#amountOf(sum, pod), 0);
    return new Map(this.#sumsOn(node).map(({ sum }) => [sum, total(sum, added) - total(sum, removed)]));
  }

  /** The sums that a node's pods count for, each with the node's domain. */
  #sumsOn(node: Pick<NodeInfo, 'node'>): readonly { readonly sum: DomainSum; readonly value: string }[] {
    if (this.sums.length === 0 || !isInAllDomains(this.#needed, node)) return [];
    const isEligible = eligibility(this.#pod, node.node);
    return this.sums.flatMap((sum) => {
      const value = domainOf(sum.constraint, node);
      return value === undefined || !isEligible(sum.constraint) ? [] : [{ sum, value }];
    });
  }

  #amountOf({ constraint }: DomainSum, pod: PodInfo): number {
    return countsFor(constraint, this.#pod.metadata.namespace ?? '', pod) ? 1 : 0;
  }
}

/** The counts for the constraints of a pod and others like it. */
class SpreadCount {
  /** The pods that count have one of these. */
  readonly keys: readonly string[];
  readonly required: ConstraintCounts;
  readonly preferred: ConstraintCounts;

  constructor({ required, preferred, isDefault }: PodSpread, pod: Pod) {
    // For each candidate, the pods of the node itself are counted directly.
    const beyondNodes = preferred.filter(({ topologyKey }) => topologyKey !== HOSTNAME_LABEL);
    this.keys = keysOf(preferred[0]?.owner ?? '', pod).slice(0, 1);
    this.required = new ConstraintCounts(required, pod);
    this.preferred = new ConstraintCounts(beyondNodes, pod, isDefault === true ? [] : preferred);
  }

  get domains(): number {
    return this.required.domains + this.preferred.domains;
  }
}

/** Constraints count either the pods of a controller or those of a namespace. */
function keysOf(ownerUid: string, { metadata }: Pod): readonly string[] {
  const ofNamespace = `namespace ${metadata.namespace ?? ''}`;
  return ownerUid === '' ? [ofNamespace] : [`owner ${ownerUid}`, ofNamespace];
}

/** Whether a node has the labels of all constraints. Pods on other nodes count for no constraint. */
export function isInAllDomains(constraints: readonly SpreadConstraint[], node: Pick<NodeInfo, 'node'>): boolean {
  return constraints.every((constraint) => domainOf(constraint, node) !== undefined);
}

/**
 * Counts pods by domains for waiting pods with spread constraints, and follows each pod that comes to a node or leaves it. The count begins
 * when such a pod is decided on first, once for all pods with the same constraints.
 */
export class SpreadCounts {
  /** By the ids of the constraints. */
  readonly #known = new KeptCounts<SpreadCount>((count) => this.#byKey.delete(count, count.keys));
  readonly #byKey = new KeyIndex<SpreadCount>();
  #compared = 0;

  /** The number of comparisons so far between a pod and the constraints of a waiting pod. */
  get compared(): number {
    return this.#compared;
  }

  /** Counts a pod on a node from now on, or no longer. */
  countPod(pod: PodInfo, node: NodeInfo, by: 1 | -1): void {
    for (const { required, preferred } of this.#byKey.among(keysOf(pod.ownerUid, pod.pod))) {
      required.countPod(pod, node, by);
      preferred.countPod(pod, node, by);
    }
  }

  /** Counts a node with its pods from now on, and its earlier version no longer. Undefined where there is none. */
  replaceNode(before: NodeInfo | undefined, after: NodeInfo | undefined): void {
    for (const { required, preferred } of this.#known.asked())
      for (const counts of [required, preferred]) {
        if (before !== undefined) counts.countNode(before, -1);
        if (after !== undefined) counts.countNode(after, 1);
      }
  }

  /** Returns the pod with the counts for its constraints or the default ones, or unchanged when it has none. */
  withSpreading(info: PodInfo, nodes: readonly NodeInfo[], services: ServiceSelectors): PodInfo {
    const spread = info.spread ?? defaultSpreadOf(info, services);
    if (spread === undefined || spread.excess !== undefined) return info;
    const { required, preferred } = this.#countsOf(spread, info.pod, nodes);
    const { labels } = info.pod.metadata;
    const beyondNodes = preferred.sums.values();
    const spreading: Spreading = {
      required: required.sums.map((count) => ({ count, own: count.constraint.selector.matches(labels) ? 1 : 0 })),
      preferred: spread.preferred.map((constraint) => {
        const sum = constraint.topologyKey === HOSTNAME_LABEL ? undefined : beyondNodes.next().value;
        return { constraint, byValue: sum?.byValue ?? NO_COUNTS };
      }),
      isDefault: spread.isDefault === true,
      moreOn: (node) => {
        const difference = differenceOn(node, 'pods');
        if (difference === undefined) return NOTHING_MORE;
        this.#compared += (difference.added.length + difference.removed.length) * required.sums.length;
        return required.moreOn(node, difference);
      },
    };
    return { ...info, spreading };
  }

  #countsOf(spread: PodSpread, pod: Pod, nodes: readonly NodeInfo[]): SpreadCount {
    return this.#known.get(spread.id, () => {
      const made = new SpreadCount(spread, pod);
      for (const node of nodes) this.#compared += made.required.countNode(node, 1) + made.preferred.countNode(node, 1);
      this.#byKey.add(made, made.keys);
      return made;
    });
  }
}

const NO_COUNTS: ByValue = new Map();
const NOTHING_MORE: ReadonlyMap<DomainCount, number> = new Map();
