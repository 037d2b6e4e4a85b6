import { HOSTNAME_LABEL, type Pod } from '@gantry/objects';
import { domainOf } from './affinity-counts.ts';
import {
  type ByValue,
  differenceOn,
  type DomainCount,
  type PodDifference,
  type PodInfo,
  type Spreading,
} from './pod-info.ts';
import type { NodeInfo } from './snapshot.ts';
import {
  countsFor,
  defaultSpreadOf,
  eligibility,
  type PodSpread,
  type ServiceSelectors,
  type SpreadConstraint,
} from './topology-spread.ts';

/** The domain with the fewest pods, and the fewest pods in any other domain (`Infinity` when there is no other). */
interface Least {
  readonly value: string | undefined;
  readonly count: number;
  readonly beside: number;
}

/** The number of pods in each domain of a constraint, which grows as pods are added. */
class DomainSum implements DomainCount {
  readonly constraint: SpreadConstraint;
  readonly #byValue = new Map<string, number>();
  /** Undefined after a change, until it is computed again. It is cached because each pod that is decided on needs it for each node. */
  #least: Least | undefined;

  constructor(constraint: SpreadConstraint) {
    this.constraint = constraint;
  }

  get byValue(): ByValue {
    return this.#byValue;
  }

  add(value: string, amount: number): void {
    const known = this.#byValue.get(value);
    if (known !== undefined && amount === 0) return;
    this.#byValue.set(value, (known ?? 0) + amount);
    this.#least = undefined;
  }

  leastBeside(value: string): number {
    this.#least ??= leastOf(this.#byValue);
    return this.#least.value === value ? this.#least.beside : this.#least.count;
  }
}

function leastOf(byValue: ByValue): Least {
  let value: string | undefined;
  let [count, beside] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const [one, amount] of byValue) {
    if (amount < count) [value, count, beside] = [one, amount, count];
    else if (amount < beside) beside = amount;
  }
  return { value, count, beside };
}

/** The sums that a node's pods count for, each with the node's domain. */
type SumsOfNode = readonly { readonly sum: DomainSum; readonly value: string }[];

/** The counts for the required or for the preferred constraints that a pod and others like it have. */
class ConstraintCounts {
  readonly sums: readonly DomainSum[];
  readonly #needed: readonly SpreadConstraint[];
  readonly #pod: Pod;
  /** The keys are the names of the nodes. */
  readonly #sumsOf = new Map<string, SumsOfNode>();

  /** Nodes have to have the labels of all `needed` constraints. */
  constructor(constraints: readonly SpreadConstraint[], pod: Pod, needed: readonly SpreadConstraint[] = constraints) {
    this.#needed = needed;
    this.#pod = pod;
    this.sums = constraints.map((constraint) => new DomainSum(constraint));
  }

  /**
   * Counts the pods of a node. From then on its domains are known, even when none of its pods counts. Returns how many comparisons were
   * made.
   */
  addNode(node: NodeInfo): number {
    if (this.sums.length === 0 || !isInAllDomains(this.#needed, node)) return 1;
    const isEligible = eligibility(this.#pod, node.node);
    const sums = this.sums.flatMap((sum) => {
      const value = domainOf(sum.constraint, node);
      return value === undefined || !isEligible(sum.constraint) ? [] : [{ sum, value }];
    });
    if (sums.length > 0) this.#sumsOf.set(node.name, sums);
    for (const { sum, value } of sums) {
      let amount = 0;
      for (const other of node.pods.values()) amount += this.#amountOf(sum, other);
      sum.add(value, amount);
    }
    return this.sums.length + node.pods.size * sums.length;
  }

  /** A pod counts on a node from now on. */
  assign(pod: PodInfo, node: NodeInfo): void {
    for (const { sum, value } of this.#sumsOf.get(node.name) ?? []) sum.add(value, this.#amountOf(sum, pod));
  }

  /** For each constraint on a node, how many more of the added pods count than of the removed ones. */
  moreOn(node: string, { added, removed }: PodDifference): ReadonlyMap<DomainCount, number> {
    const total = (sum: DomainSum, pods: readonly PodInfo[]) =>
      pods.reduce((amount, pod) => amount + this.#amountOf(sum, pod), 0);
    return new Map((this.#sumsOf.get(node) ?? []).map(({ sum }) => [sum, total(sum, added) - total(sum, removed)]));
  }

  #amountOf({ constraint }: DomainSum, pod: PodInfo): number {
    return countsFor(constraint, this.#pod.metadata.namespace ?? '', pod) ? 1 : 0;
  }
}

/** Whether a node has the labels of all constraints. Pods on other nodes count for no constraint. */
export function isInAllDomains(constraints: readonly SpreadConstraint[], node: Pick<NodeInfo, 'node'>): boolean {
  return constraints.every((constraint) => domainOf(constraint, node) !== undefined);
}

/**
 * Counts pods by domains for waiting pods with spread constraints. The count is made when such a pod is decided on, once for all pods with
 * the same constraints. A pod without constraints causes no comparison.
 */
export class SpreadCounts {
  readonly #nodes: readonly NodeInfo[];
  readonly #services: ServiceSelectors;
  readonly #known = new Map<string, { readonly required: ConstraintCounts; readonly preferred: ConstraintCounts }>();
  #compared = 0;

  /** The caller replaces nodes that get pods, and reports this with `assign`. */
  constructor(nodes: readonly NodeInfo[], services: ServiceSelectors = new Map()) {
    this.#nodes = nodes;
    this.#services = services;
  }

  /** The number of comparisons so far between a pod and the constraints of a waiting pod. */
  get compared(): number {
    return this.#compared;
  }

  /** A pod counts on a node from now on. */
  assign(pod: PodInfo, node: NodeInfo): void {
    for (const { required, preferred } of this.#known.values()) {
      required.assign(pod, node);
      preferred.assign(pod, node);
    }
  }

  /** Returns the pod with the counts for its constraints or the default ones, or unchanged when it has none. */
  withSpreading(info: PodInfo): PodInfo {
    const spread = info.spread ?? defaultSpreadOf(info, this.#services);
    if (spread === undefined || spread.excess !== undefined) return info;
    const { required, preferred } = this.#countsOf(spread, info.pod);
    const { labels } = info.pod.metadata;
    const spreading: Spreading = {
      required: required.sums.map((count) => ({ count, own: count.constraint.selector.matches(labels) ? 1 : 0 })),
      preferred: spread.preferred.map((constraint) => ({
        constraint,
        byValue: preferred.sums.find((sum) => sum.constraint === constraint)?.byValue ?? NO_COUNTS,
      })),
      isDefault: spread.isDefault === true,
      moreOn: (node) => {
        const difference = differenceOn(node, 'pods');
        if (difference === undefined) return NOTHING_MORE;
        this.#compared += (difference.added.length + difference.removed.length) * required.sums.length;
        return required.moreOn(node.name, difference);
      },
    };
    return { ...info, spreading };
  }

  #countsOf({ id, required, preferred, isDefault }: PodSpread, pod: Pod) {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    // For each candidate, the pods of the node itself are counted directly.
    const beyondNodes = preferred.filter(({ topologyKey }) => topologyKey !== HOSTNAME_LABEL);
    const made = {
      required: new ConstraintCounts(required, pod),
      preferred: new ConstraintCounts(beyondNodes, pod, isDefault === true ? [] : preferred),
    };
    for (const node of this.#nodes) this.#compared += made.required.addNode(node) + made.preferred.addNode(node);
    this.#known.set(id, made);
    return made;
  }
}

const NO_COUNTS: ByValue = new Map();
const NOTHING_MORE: ReadonlyMap<DomainCount, number> = new Map();
