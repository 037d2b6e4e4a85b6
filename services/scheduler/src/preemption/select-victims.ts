import { type FilterPlugin, refusalOf } from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { type NodeInfo, OwnedNodes } from '../framework/node-info.ts';
import type { BudgetLedger } from './budget-ledger.ts';
import { isMarkedForPreemption } from './nominations.ts';

/** A node on which the pod fits once the victims are gone. */
export interface Candidate {
  readonly nodeName: string;
  /** The pods to evict, the most important first. */
  readonly victims: readonly PodInfo[];
  /** Pods that are leaving anyway and also have to be gone before the pod fits. */
  readonly awaited: readonly PodInfo[];
  /** How many of the victims violate a PodDisruptionBudget. */
  readonly violations: number;
  /** Kubernetes' criteria, the first one first. Less is better. */
  readonly rank: readonly number[];
}

/** What the selection of victims knows of the cluster apart from the node. */
export interface PreemptionRules {
  readonly filters: readonly FilterPlugin[];
  readonly budgets: BudgetLedger;
  /** Whether a pod leaves its node soon without being chosen here: it terminates, or is the victim of another pod. */
  readonly isLeaving: (pod: PodInfo) => boolean;
}

/** A node to try with some of its pods removed. */
class Trial {
  readonly #owned = new OwnedNodes();
  #node: NodeInfo;

  constructor(node: NodeInfo) {
    this.#node = { ...node, counted: node };
  }

  get node(): NodeInfo {
    return this.#node;
  }

  add(pod: PodInfo): void {
    this.#node = this.#owned.add(this.#node, pod);
  }

  remove({ key }: PodInfo): void {
    this.#node = this.#owned.remove(this.#node, key);
  }
}

/** Whether one pod may take the place of another. */
export function mayPreempt(pod: PodInfo, other: PodInfo): boolean {
  return other.priority < pod.priority;
}

/** How room can be made on a node, or Kubernetes' reasons why it cannot. */
export type Selection = Candidate | { readonly reasons: readonly string[] };

/**
 * Finds the fewest pods of lower priority that have to leave a node so that a pod fits together with the pods that are `nominated` there.
 * The search removes all of them, and then lets as many as possible stay. The pods whose eviction would violate a budget are tried first,
 * in each group the most important ones first. Pods that are leaving anyway are tried last, so that none is evicted when it is enough to
 * wait for them. Returns Kubernetes' reasons when no such set exists.
 */
export function selectVictims(
  pod: PodInfo,
  node: NodeInfo,
  nominated: readonly PodInfo[],
  { filters, budgets, isLeaving }: PreemptionRules,
): Selection {
  const lower = [...node.pods.values()].filter((other) => mayPreempt(pod, other)).sort(byImportance);
  const trial = new Trial(node);
  for (const other of lower) trial.remove(other);
  const refusal = refusalOf(pod, trial.node, nominated, filters);
  if (refusal !== undefined) return refusal;
  const hasToLeave = (other: PodInfo): boolean => {
    trial.add(other);
    if (refusalOf(pod, trial.node, nominated, filters) === undefined) return false;
    trial.remove(other);
    return true;
  };
  const staying = lower.filter((other) => !isLeaving(other));
  const violating = budgets.violating(staying);
  const violations = staying.filter((other) => violating.has(other)).filter(hasToLeave);
  const others = staying.filter((other) => !violating.has(other)).filter(hasToLeave);
  const awaited = lower.filter(isLeaving).filter(hasToLeave);
  const victims = [...violations, ...others].sort(byImportance);
  const rank = rankOf(violations.length, [...victims, ...awaited].sort(byImportance));
  return { nodeName: node.name, victims, awaited, violations: violations.length, rank };
}

/** Is added to each priority, so that the sum is lower for fewer victims although priorities may be negative. */
const LOWEST_PRIORITY = 2 ** 31;

/**
 * Chooses the best candidate by Kubernetes' criteria, in this order: the fewest violations of budgets, the lowest priority of the most
 * important victim, the lowest sum of priorities, the fewest victims, and the victims that were started last. Among equal candidates it
 * takes the first.
 */
export function chooseCandidate(candidates: readonly Candidate[]): Candidate | undefined {
  const [first] = candidates;
  if (first === undefined) return undefined;
  return candidates.reduce((best, one) => (isLess(one.rank, best.rank) ? one : best), first);
}

/** `leaving` are in the order of importance. */
function rankOf(violations: number, leaving: readonly PodInfo[]): readonly number[] {
  const highest = leaving[0]?.priority ?? -LOWEST_PRIORITY;
  const sum = leaving.reduce((total, { priority }) => total + priority + LOWEST_PRIORITY, 0);
  const earliest = Math.min(...leaving.filter(({ priority }) => priority === highest).map(startOf));
  return [violations, highest, sum, leaving.length, -earliest];
}

function isLess(rank: readonly number[], other: readonly number[]): boolean {
  for (const [i, value] of rank.entries()) {
    const otherValue = other[i] ?? 0;
    if (value !== otherValue) return value < otherValue;
  }
  return false;
}

/** When a pod was started, in milliseconds. `Infinity` when it has not been started. */
function startOf({ pod }: PodInfo): number {
  const started = Date.parse(pod.status?.startTime ?? '');
  return Number.isNaN(started) ? Number.POSITIVE_INFINITY : started;
}

/**
 * Orders pods as Kubernetes does, the most important first: by priority, and among equal ones those that were started earlier. Remaining
 * ties are always broken the same way, with pods that are marked for preemption last. So an interrupted preemption continues with the same
 * pods.
 */
function byImportance(a: PodInfo, b: PodInfo): number {
  if (a.priority !== b.priority) return b.priority - a.priority;
  const [start, otherStart] = [startOf(a), startOf(b)];
  if (start !== otherStart) return start < otherStart ? -1 : 1;
  const marked = Number(isMarkedForPreemption(a.pod)) - Number(isMarkedForPreemption(b.pod));
  if (marked !== 0) return marked;
  return a.key < b.key ? -1 : 1;
}
