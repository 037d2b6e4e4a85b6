import { type Random, seededRandom } from '@gantry/base';
import { type Exclusion, explainRefusals, type Refusal } from './explain.ts';
import type { PodInfo } from './framework/pod-info.ts';
import type { FilterPlugin, ScorePlugin } from './framework/plugin.ts';
import { FILTERS, SCORES } from './plugins/registry.ts';
import { type ClusterSnapshot, indexOfNode, type NodeInfo, withPod } from './framework/snapshot.ts';

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

/** A pod and its node. */
export type Assignment = Decision & { kind: 'assign' };

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
    const start = Math.floor(random() * nodes.length);
    const { feasible, refusals, exclusion } = findFeasible(pod, nodes, plugins.filters, start);
    const chosen = choose(pod, feasible, plugins.scores, random);
    if (chosen === undefined) {
      const message = explainRefusals(nodes.length, refusals, exclusion);
      const refusing = [...refusals.map(({ plugin }) => plugin), ...(exclusion?.plugins ?? [])];
      return { kind: 'refuse', pod, message, plugins: new Set(refusing) };
    }
    nodes[chosen.index] = withPod(chosen.node, pod);
    return { kind: 'assign', pod, nodeName: chosen.node.name };
  });
}

interface Candidate {
  readonly node: NodeInfo;
  readonly index: number;
}

interface Search {
  readonly feasible: readonly Candidate[];
  readonly refusals: readonly Refusal[];
  /** About the nodes that were not looked at; absent when the search was for any node. */
  readonly exclusion?: Exclusion;
}

function findFeasible(
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  filters: readonly FilterPlugin[],
  start: number,
): Search {
  const restriction = restrictionOf(pod, filters);
  if (restriction === undefined) return search(pod, nodes, filters, start);
  const { names, exclusion } = restriction;
  const named = names.map((name) => indexOfNode(nodes, name)).filter((index) => index >= 0);
  const feasible: Candidate[] = [];
  const refusals: Refusal[] = [];
  for (const index of named) look(pod, nodes, index, filters, { feasible, refusals });
  return { feasible, refusals, exclusion };
}

/** The nodes that the filters restrict the pod to, by name: a pod of a DaemonSet is planned without a look at the others. */
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

function search(pod: PodInfo, nodes: readonly NodeInfo[], filters: readonly FilterPlugin[], start: number): Search {
  const enough = Math.max(ENOUGH_NODES, Math.ceil(nodes.length * SHARE_OF_NODES));
  const feasible: Candidate[] = [];
  const refusals: Refusal[] = [];
  for (let i = 0; i < nodes.length && feasible.length < enough; i++)
    look(pod, nodes, (start + i) % nodes.length, filters, { feasible, refusals });
  return { feasible, refusals };
}

function look(
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  index: number,
  filters: readonly FilterPlugin[],
  { feasible, refusals }: { readonly feasible: Candidate[]; readonly refusals: Refusal[] },
): void {
  const node = nodes[index];
  if (node === undefined) return;
  const refusal = refusalOf(pod, node, filters);
  if (refusal === undefined) feasible.push({ node, index });
  else refusals.push(refusal);
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
