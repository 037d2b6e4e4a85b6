import { type Random, seededRandom } from '@gantry/base';
import { type Exclusion, explainPreemption, explainRefusals } from './explain.ts';
import { type FilterPlugin, type Points, type Refusal, refusalOf, type ScorePlugin } from './framework/plugin.ts';
import type { PodInfo } from './framework/pod-info.ts';
import { indexOfNode, type NodeInfo, OwnedNodes } from './framework/node-info.ts';
import type { ClusterSnapshot } from './framework/snapshot.ts';
import { FILTERS, SCORES } from './plugins/registry.ts';
import { withImages } from './plugins/score/image-locality.ts';
import { BudgetLedger } from './preemption/budget-ledger.ts';
import { Nominations } from './preemption/nominations.ts';
import { planPreemption, type PreemptionPlan } from './preemption/plan.ts';
import { NodeSearch, type Search } from './search.ts';

/** The decision for one pod. */
export type Decision =
  | {
      readonly kind: 'assign';
      readonly pod: PodInfo;
      readonly nodeName: string;
      /** What was considered; absent for an assignment that is sent again. */
      readonly considered?: Considered;
    }
  /** No node fits. It has Kubernetes' message and the names of the plugins that excluded nodes. */
  | {
      readonly kind: 'refuse';
      readonly pod: PodInfo;
      readonly message: string;
      readonly plugins: ReadonlySet<string>;
      /** The name of the node that the pod is nominated to from now on, or ''. */
      readonly nominatedTo: string;
      readonly preemption: Preemption;
      readonly considered: Considered;
    }
  /** This cycle has reached its limit on work. The next one decides on the pod. */
  | { readonly kind: 'postpone'; readonly pod: PodInfo };

/** What a decision considered: which nodes fit, why others do not, and the points of those that fit. */
export interface Considered {
  /** The number of all nodes. The search ends when enough of them fit. */
  readonly nodeCount: number;
  /** Nodes that fit. */
  readonly feasible: readonly string[];
  readonly refusals: readonly Refusal[];
  /** Of each plugin, the points of the nodes that fit, in their order; none where there was no choice. */
  readonly scores: readonly PluginScores[];
  readonly exclusion?: Exclusion | undefined;
}

interface PluginScores {
  readonly plugin: string;
  readonly weight: number;
  readonly points: Points;
}

/** How room is made for a refused pod. */
export type Preemption =
  /** No room is made. `no-attempt` means that preemption was not tried, because the cluster has no nodes. */
  | { readonly kind: 'none' | 'no-attempt' }
  | {
      readonly kind: 'possible';
      readonly nodeName: string;
      /** The pods to evict. */
      readonly victims: readonly PodInfo[];
      /** The pods that lose their nomination. Pods that this cycle decides on anyway are left out. */
      readonly displaced: readonly PodInfo[];
    };

/** The decision that puts a pod on a node. */
export type Assignment = Decision & { kind: 'assign' };

export interface Plugins {
  readonly filters: readonly FilterPlugin[];
  readonly scores: readonly ScorePlugin[];
}

/**
 * Once a cycle has tried this many pods as victims, it postpones the rest of its pods to the next cycle, which takes them in the same
 * order.
 */
const MAX_TRIED_VICTIMS = 10_000;
/** The same limit for comparisons of pods with terms of affinity and spread constraints. This many take about a quarter of a second. */
const MAX_COMPARED = 1_000_000;

/**
 * Decides on the pods one after the other, in their order. The queue puts those of the highest priority first. Each decision counts for the
 * pods after it: the pod is on its node, or nominated to one. The same snapshot, pods and seed give the same decisions.
 */
export function planAssignments(
  snapshot: ClusterSnapshot,
  pods: readonly PodInfo[],
  seed: number,
  plugins: Plugins = { filters: FILTERS, scores: SCORES },
): readonly Decision[] {
  const planner = new Planner(snapshot, pods, seededRandom(seed), plugins);
  try {
    return pods.map((pod) => planner.decide(pod));
  } finally {
    planner.takeBack();
  }
}

/** The state of the cluster during a cycle, which its decisions change. */
class Planner {
  readonly #nodes: NodeInfo[];
  readonly #owned = new OwnedNodes();
  readonly #random: Random;
  readonly #plugins: Plugins;
  readonly #nominations: Nominations;
  readonly #snapshot: ClusterSnapshot;
  readonly #search: NodeSearch;
  /** The pods that the cycle has assigned. They count until its end. */
  readonly #assigned: { readonly pod: PodInfo; readonly node: NodeInfo }[] = [];
  /** Whether any pod that is nominated to a node has terms. */
  #nominatedTerms: boolean;
  readonly #comparedBefore: number;
  readonly #decided: ReadonlySet<string>;
  /** The uids of the pods that this cycle evicts. */
  readonly #victims = new Set<string>();
  #budgets: BudgetLedger | undefined;
  #lowestPriority: number | undefined;
  #tried = 0;

  constructor(snapshot: ClusterSnapshot, pods: readonly PodInfo[], random: Random, plugins: Plugins) {
    this.#nodes = [...snapshot.nodes];
    this.#random = random;
    this.#plugins = plugins;
    this.#nominations = new Nominations(snapshot.nominated);
    this.#snapshot = snapshot;
    this.#search = new NodeSearch(this.#nodes, plugins.filters);
    this.#nominatedTerms = [...snapshot.nominated.values()].some((nominated) => nominated.some(hasTerms));
    this.#comparedBefore = comparedBy(snapshot);
    this.#decided = new Set(pods.map(({ key }) => key));
  }

  decide(pod: PodInfo): Decision {
    const compared = comparedBy(this.#snapshot) - this.#comparedBefore;
    if (this.#tried >= MAX_TRIED_VICTIMS || compared >= MAX_COMPARED) return { kind: 'postpone', pod };
    const { scores } = this.#plugins;
    const known = this.#withSurroundings(pod);
    const start = Math.floor(this.#random() * this.#nodes.length);
    const nominated = (nodeName: string) => this.#nominations.before(pod, nodeName);
    const search = this.#searchNominated(known) ?? this.#search.find(known, nominated, start);
    const { chosen, points } = choose(known, search.feasible, scores, this.#random);
    const considered: Considered = {
      nodeCount: this.#nodes.length,
      feasible: search.feasible.map(({ name }) => name),
      refusals: search.refusals,
      scores: points,
      exclusion: search.exclusion,
    };
    if (chosen === undefined) return this.#refuse(pod, known, search, considered);
    const node = this.#owned.add(chosen, pod);
    this.#nodes[indexOfNode(this.#nodes, node.name)] = node;
    this.#assigned.push({ pod, node });
    this.#count(pod, node, 1);
    this.#nominations.withdraw(pod);
    return { kind: 'assign', pod, nodeName: node.name, considered };
  }

  /** The counts are again those of the snapshot. */
  takeBack(): void {
    for (const { pod, node } of this.#assigned) this.#count(pod, node, -1);
  }

  #count(pod: PodInfo, node: NodeInfo, by: 1 | -1): void {
    this.#snapshot.affinity.countPod(pod, node, by);
    this.#snapshot.spread.countPod(pod, node, by);
  }

  #withSurroundings(pod: PodInfo): PodInfo {
    const { affinity, spread, services } = this.#snapshot;
    const near = affinity.withNeighbours(pod, this.#nodes, this.#nominatedTerms);
    return withImages(spread.withSpreading(near, this.#nodes, services), this.#snapshot);
  }

  /**
   * Finds the node that the pod is nominated to, if the pod fits there. Room was made for it on that node, so no other node is looked at.
   */
  #searchNominated(pod: PodInfo): Search | undefined {
    const nominatedTo = this.#nominations.nodeOf(pod);
    if (nominatedTo === '') return undefined;
    const node = this.#nodes[indexOfNode(this.#nodes, nominatedTo)];
    if (node === undefined) return undefined;
    const refusal = refusalOf(pod, node, this.#nominations.before(pod, nominatedTo), this.#plugins.filters);
    return refusal === undefined ? { feasible: [node], refusals: [] } : undefined;
  }

  /** `known` is the pod with its neighbours and spread counts. */
  #refuse(pod: PodInfo, known: PodInfo, { refusals, exclusion }: Search, considered: Considered): Decision {
    const count = this.#nodes.length;
    const plugins = new Set(exclusion?.plugins);
    for (const { filter } of refusals) plugins.add(filter.name);
    const refusal = { kind: 'refuse', pod, plugins, considered } as const;
    const explain = (preemption: string) => explainRefusals(count, refusals, exclusion, preemption);
    if (count === 0) {
      const nominatedTo = this.#nominations.nodeOf(pod);
      return { ...refusal, message: explain(''), nominatedTo, preemption: { kind: 'no-attempt' } };
    }
    const plan = this.#planPreemption(known, refusals);
    if (plan.kind === 'possible') return { ...refusal, message: explain(''), ...this.#preempt(pod, plan) };
    if (plan.kind === 'impossible') this.#nominations.withdraw(pod);
    const why = plan.kind === 'ineligible' ? plan.reason : explainPreemption(count, plan.looked, plan.reasons);
    const nominatedTo = this.#nominations.nodeOf(pod);
    return { ...refusal, message: explain(why), nominatedTo, preemption: { kind: 'none' } };
  }

  #planPreemption(pod: PodInfo, refusals: readonly Refusal[]): PreemptionPlan {
    this.#budgets ??= new BudgetLedger(this.#snapshot.budgets);
    return planPreemption(pod, refusals, this.#random(), {
      filters: this.#plugins.filters,
      budgets: this.#budgets,
      nominations: this.#nominations,
      found: this.#search.victimsFor(pod),
      isLeaving: ({ uid, pod: other }) => this.#victims.has(uid) || other.metadata.deletionTimestamp !== undefined,
      lowestPriority: () => (this.#lowestPriority ??= lowestPriorityOn(this.#snapshot.nodes)),
      count: (pods) => {
        this.#tried += pods;
      },
    });
  }

  #preempt(
    pod: PodInfo,
    { candidate }: PreemptionPlan & { kind: 'possible' },
  ): { readonly nominatedTo: string; readonly preemption: Preemption } {
    const { nodeName, victims } = candidate;
    for (const { uid } of victims) this.#victims.add(uid);
    this.#budgets?.spend(victims);
    const node = this.#nodes[indexOfNode(this.#nodes, nodeName)];
    if (node !== undefined) this.#search.evicted(node, this.#snapshot.budgets.length > 0);
    this.#nominatedTerms ||= hasTerms(pod);
    const displaced = this.#nominations.nominate(pod, nodeName).filter(({ key }) => !this.#decided.has(key));
    return { nominatedTo: nodeName, preemption: { kind: 'possible', nodeName, victims, displaced } };
  }
}

/**
 * The lowest priority of the pods on the nodes at the start of the cycle. Pods that the cycle assigns need no check: their priority is not
 * lower than that of the pods decided on after them.
 */
function lowestPriorityOn(nodes: readonly NodeInfo[]): number {
  let lowest = Number.POSITIVE_INFINITY;
  for (const { pods } of nodes) for (const { priority } of pods.values()) lowest = Math.min(lowest, priority);
  return lowest;
}

function hasTerms({ affinity }: PodInfo): boolean {
  return affinity !== undefined;
}

/** The comparisons so far between pods and the terms and constraints of waiting pods. */
function comparedBy({ affinity, spread }: ClusterSnapshot): number {
  return affinity.compared + spread.compared;
}

interface Choice {
  readonly chosen: NodeInfo | undefined;
  readonly points: readonly PluginScores[];
}

/** Chooses the node with the highest weighted score, at random among equal ones. */
function choose(pod: PodInfo, nodes: readonly NodeInfo[], scores: readonly ScorePlugin[], random: Random): Choice {
  if (nodes.length <= 1) return { chosen: nodes[0], points: [] };
  const totals = nodes.map(() => 0);
  const ofPlugins = scores.map(({ name, weight, score }) => ({ plugin: name, weight, points: score(pod, nodes) }));
  for (const { weight, points } of ofPlugins) {
    // What all nodes have distinguishes none.
    if (typeof points === 'number') continue;
    for (let i = 0; i < totals.length; i++) totals[i] = (totals[i] ?? 0) + weight * (points[i] ?? 0);
  }
  const best = Math.max(...totals);
  const equals = nodes.filter((_, i) => (totals[i] ?? 0) >= best - 1e-9);
  return { chosen: equals[Math.floor(random() * equals.length)], points: ofPlugins };
}
