import { type Random, seededRandom } from '@gantry/base';
import { explainRefusals, type Refusal } from './explain.ts';
import type { PodInfo } from './framework/pod-info.ts';
import type { FilterPlugin, ScorePlugin } from './framework/plugin.ts';
import { FILTERS, SCORES } from './plugins/registry.ts';
import { type ClusterSnapshot, type NodeInfo, withPod } from './framework/snapshot.ts';

/** The decision for one pod. */
export type Decision =
  | { readonly kind: 'assign'; readonly pod: PodInfo; readonly nodeName: string }
  /** No node fits: Kubernetes' message, and the plugins that excluded nodes. */
  | {
      readonly kind: 'refuse';
      readonly pod: PodInfo;
      readonly message: string;
      readonly plugins: ReadonlySet<string>;
    };

export interface Plugins {
  readonly filters: readonly FilterPlugin[];
  readonly scores: readonly ScorePlugin[];
}

/** In large clusters the search ends at this number of feasible nodes, or this share of all if larger. */
const ENOUGH_NODES = 100;
const SHARE_OF_NODES = 0.1;

/**
 * Assigns the pods one after the other; each counts on its node for the next ones. The same snapshot, pods and seed yield the
 * same decisions.
 */
export function planAssignments(
  snapshot: ClusterSnapshot,
  pods: readonly PodInfo[],
  seed: number,
  plugins: Plugins = { filters: FILTERS, scores: SCORES },
): readonly Decision[] {
  const random = seededRandom(seed);
  const nodes = [...snapshot.nodes];
  return pods.map((pod): Decision => {
    const found = findFeasible(pod, nodes, plugins.filters, Math.floor(random() * nodes.length));
    const chosen = choose(pod, found.feasible, plugins.scores, random);
    if (chosen === undefined) {
      const message = explainRefusals(nodes.length, found.refusals);
      return { kind: 'refuse', pod, message, plugins: new Set(found.refusals.map((refusal) => refusal.plugin)) };
    }
    nodes[chosen.index] = withPod(chosen.node, pod);
    return { kind: 'assign', pod, nodeName: chosen.node.name };
  });
}

interface Candidate {
  readonly node: NodeInfo;
  readonly index: number;
}

function findFeasible(
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  filters: readonly FilterPlugin[],
  start: number,
): { readonly feasible: readonly Candidate[]; readonly refusals: readonly Refusal[] } {
  const enough = Math.max(ENOUGH_NODES, Math.ceil(nodes.length * SHARE_OF_NODES));
  const feasible: Candidate[] = [];
  const refusals: Refusal[] = [];
  for (let i = 0; i < nodes.length && feasible.length < enough; i++) {
    const index = (start + i) % nodes.length;
    const node = nodes[index];
    if (node === undefined) continue;
    const refusal = refusalOf(pod, node, filters);
    if (refusal === undefined) feasible.push({ node, index });
    else refusals.push(refusal);
  }
  return { feasible, refusals };
}

function refusalOf(pod: PodInfo, node: NodeInfo, filters: readonly FilterPlugin[]): Refusal | undefined {
  for (const { name, filter, curedByRoom } of filters) {
    const reasons = filter(pod, node);
    if (reasons.length === 0) continue;
    return { plugin: name, reasons, preemption: curedByRoom?.(pod, node) === true ? 'no-victims' : 'not-helpful' };
  }
  return undefined;
}

/** The node with the best weighted score; random among equals. */
function choose(
  pod: PodInfo,
  candidates: readonly Candidate[],
  scores: readonly ScorePlugin[],
  random: Random,
): Candidate | undefined {
  if (candidates.length <= 1) return candidates[0];
  const nodes = candidates.map(({ node }) => node);
  const totals = nodes.map(() => 0);
  for (const { weight, score } of scores) {
    for (const [i, points] of score(pod, nodes).entries()) totals[i] = (totals[i] ?? 0) + weight * points;
  }
  const best = Math.max(...totals);
  const equals = candidates.filter((_, i) => (totals[i] ?? 0) >= best - 1e-9);
  return equals[Math.floor(random() * equals.length)];
}
