import type { Pod } from '@gantry/objects';
import { domainOf } from './affinity-counts.ts';
import { CountedNodes } from './counted-nodes.ts';
import type { ByValue, DomainCount, PodInfo, Spreading } from './pod-info.ts';
import type { NodeInfo } from './snapshot.ts';
import { counts, type PodSpread, type SpreadConstraint, spreadsOver } from './topology-spread.ts';

/** The domain with the fewest pods, and the fewest in any other one; `Infinity` where there is none. */
interface Least {
  readonly value: string | undefined;
  readonly count: number;
  readonly beside: number;
}

/** Pods by the domains of a constraint, which grow. */
class DomainSum implements DomainCount {
  readonly constraint: SpreadConstraint;
  readonly #byValue = new Map<string, number>();
  /** Undefined since the last change: each pod that is decided on asks for it for each node. */
  #least: Least | undefined;

  constructor(constraint: SpreadConstraint) {
    this.constraint = constraint;
  }

  get byValue(): ByValue {
    return this.#byValue;
  }

  add(value: string, amount: number): void {
    this.#byValue.set(value, (this.#byValue.get(value) ?? 0) + amount);
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

/** What is counted for the constraints of one kind, which a pod and others like it have. */
class ConstraintCounts {
  readonly sums: readonly DomainSum[];
  readonly #constraints: readonly SpreadConstraint[];
  readonly #pod: Pod;

  constructor(constraints: readonly SpreadConstraint[], pod: Pod) {
    this.#constraints = constraints;
    this.#pod = pod;
    this.sums = constraints.map((constraint) => new DomainSum(constraint));
  }

  /** Counts pods on a node. Its domains are known from then on, even where none of the pods counts. */
  add(node: NodeInfo, pods: Iterable<PodInfo>): void {
    if (!isInAllDomains(this.#constraints, node)) return;
    for (const sum of this.sums) {
      const { constraint } = sum;
      const value = domainOf(constraint, node);
      if (value === undefined || !spreadsOver(constraint, this.#pod, node.node)) continue;
      let amount = 0;
      for (const { pod } of pods) if (counts(constraint, this.#pod, pod)) amount += 1;
      sum.add(value, amount);
    }
  }
}

/** Whether a node has the labels of all constraints. Pods on others count for none of them. */
export function isInAllDomains(constraints: readonly SpreadConstraint[], node: Pick<NodeInfo, 'node'>): boolean {
  return constraints.every((constraint) => domainOf(constraint, node) !== undefined);
}

/**
 * Counts pods by domains for waiting pods that are to be spread: when one is decided on, once for all pods with the same constraints. No pod
 * is looked at for a pod without constraints.
 */
export class SpreadCounts {
  readonly #nodes: readonly NodeInfo[];
  readonly #counted: CountedNodes;
  readonly #known = new Map<string, { readonly required: ConstraintCounts; readonly preferred: ConstraintCounts }>();
  #compared = 0;

  /** `nodes` are those of the cycle: where pods are assigned, they change as `assign` is told. */
  constructor(nodes: readonly NodeInfo[]) {
    this.#nodes = nodes;
    this.#counted = new CountedNodes(nodes);
  }

  /** How many pods have been compared with constraints of waiting pods. */
  get compared(): number {
    return this.#compared;
  }

  /** A pod counts on a node from now on: `node` has it already. */
  assign(pod: PodInfo, node: NodeInfo): void {
    this.#counted.replace(node);
    for (const { required, preferred } of this.#known.values())
      for (const count of [required, preferred]) count.add(node, [pod]);
  }

  /** The pod with what its constraints count; as it is when it has none. */
  withSpreading(info: PodInfo): PodInfo {
    const { spread } = info;
    if (spread === undefined || spread.excess !== undefined) return info;
    const { required, preferred } = this.#countsOf(spread, info.pod);
    const spreading: Spreading = {
      required: required.sums,
      preferred: preferred.sums,
      moreOn: (node, constraint) => {
        const difference = this.#counted.differenceOn(node, 'pods');
        if (difference === undefined || !isInAllDomains(spread.required, node)) return 0;
        if (!spreadsOver(constraint, info.pod, node.node)) return 0;
        const counting = (pods: readonly PodInfo[]) =>
          pods.filter(({ pod }) => counts(constraint, info.pod, pod)).length;
        return counting(difference.added) - counting(difference.removed);
      },
    };
    return { ...info, spreading };
  }

  #countsOf({ id, required, preferred }: PodSpread, pod: Pod) {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const made = {
      required: new ConstraintCounts(required, pod),
      preferred: new ConstraintCounts(preferred, pod),
    };
    for (const node of this.#nodes) {
      const pods = [...node.pods.values()];
      made.required.add(node, pods);
      made.preferred.add(node, pods);
      this.#compared += pods.length * (required.length + preferred.length);
    }
    this.#known.set(id, made);
    return made;
  }
}
