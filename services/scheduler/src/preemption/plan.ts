import { isCurable, type Refusal } from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import { isMarkedForPreemption, type Nominations } from './nominations.ts';
import {
  type Candidate,
  chooseCandidate,
  mayPreempt,
  type PreemptionRules,
  type Selection,
  selectVictims,
} from './select-victims.ts';

/** Whether and how a pod that fits on no node can get room. */
export type PreemptionPlan =
  /** The pod may not preempt, or it waits for its victims to terminate. Its nomination stays. */
  | { readonly kind: 'ineligible'; readonly reason: string }
  /** No eviction helps. `looked` is the number of nodes where room was looked for, and `reasons` says why there is none. */
  | { readonly kind: 'impossible'; readonly looked: number; readonly reasons: ReasonCounts }
  | { readonly kind: 'possible'; readonly candidate: Candidate };

/** The state of a cycle, as far as preemption uses it. */
export interface PreemptionContext extends PreemptionRules {
  readonly nominations: Nominations;
  /** The lowest priority of all pods on nodes. */
  readonly lowestPriority: () => number;
  /**
   * What was found on nodes without nominated pods for pods of the same priority that no filter distinguishes, in the present state of the
   * cycle. Undefined when a filter distinguishes this one from all others.
   */
  readonly found: Map<NodeInfo, Selection> | undefined;
  /** Is called with the number of pods that were tried as victims. */
  readonly count: (pods: number) => void;
}

/** For each of Kubernetes' reasons, the number of nodes that it speaks against. */
export type ReasonCounts = ReadonlyMap<string, number>;

const NO_VICTIMS = 'No preemption victims found for incoming pod';
const BY_POLICY = 'not eligible due to preemptionPolicy=Never.';
const BY_TERMINATION = 'not eligible due to a terminating pod on the nominated node.';

/** The search for victims ends once this many nodes are candidates, or this share of the nodes if that is more. */
const ENOUGH_CANDIDATES = 100;
const SHARE_OF_NODES = 0.1;

/**
 * Finds the pods that have to leave one of the nodes so that a refused pod fits there. `offset` in [0, 1) says where in the list of nodes
 * the search begins.
 */
export function planPreemption(
  pod: PodInfo,
  refusals: readonly Refusal[],
  offset: number,
  context: PreemptionContext,
): PreemptionPlan {
  if (pod.pod.spec?.preemptionPolicy === 'Never') return { kind: 'ineligible', reason: BY_POLICY };
  const curable = refusals.filter((refusal) => isCurable(pod, refusal)).map(({ node }) => node);
  // This holds for most refused pods, and saves a look at the nodes.
  if (context.lowestPriority() >= pod.priority) {
    const looked = curable.length;
    return { kind: 'impossible', looked, reasons: new Map(looked === 0 ? [] : [[NO_VICTIMS, looked]]) };
  }
  const nominatedTo = context.nominations.nodeOf(pod);
  const nominatedNode = curable.find(({ name }) => name === nominatedTo);
  if (nominatedNode !== undefined && awaitsVictim(pod, nominatedNode, context))
    return { kind: 'ineligible', reason: BY_TERMINATION };
  const { candidates, reasons } = findCandidates(pod, inOrder(curable, offset, nominatedTo), context);
  const candidate = candidates.find((one) => isUnderWay(one, nominatedTo)) ?? chooseCandidate(candidates);
  if (candidate === undefined) return { kind: 'impossible', looked: curable.length, reasons };
  return { kind: 'possible', candidate };
}

/**
 * Whether a victim on the pod's nominated node is terminating, so that the pod has to wait. Otherwise a second attempt, with a cache that
 * shows only part of the first one, would choose further victims.
 */
function awaitsVictim(pod: PodInfo, nominatedNode: NodeInfo, { isLeaving }: PreemptionContext): boolean {
  for (const other of nominatedNode.pods.values()) {
    const isVictim = other.pod.metadata.deletionTimestamp === undefined || isMarkedForPreemption(other.pod);
    if (mayPreempt(pod, other) && isLeaving(other) && isVictim) return true;
  }
  return false;
}

/** Whether the pod only has to wait on its nominated node. */
function isUnderWay({ nodeName, victims }: Candidate, nominatedTo: string): boolean {
  return nodeName === nominatedTo && victims.length === 0;
}

/** Orders the nodes from the offset on. The node that the pod is nominated to comes first, so that among equal nodes it is chosen again. */
function inOrder(nodes: readonly NodeInfo[], offset: number, nominatedTo: string): readonly NodeInfo[] {
  const start = Math.floor(offset * nodes.length);
  const ordered = [...nodes.slice(start), ...nodes.slice(0, start)];
  const nominated = ordered.findIndex(({ name }) => name === nominatedTo);
  return nominated < 0 ? ordered : [...ordered.splice(nominated, 1), ...ordered];
}

function findCandidates(
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  context: PreemptionContext,
): { readonly candidates: readonly Candidate[]; readonly reasons: ReasonCounts } {
  const enough = Math.max(ENOUGH_CANDIDATES, Math.floor(nodes.length * SHARE_OF_NODES));
  const harmless: Candidate[] = [];
  const violating: Candidate[] = [];
  const counts = new Map<string, number>();
  for (const node of nodes) {
    if (harmless.length > 0 && harmless.length + violating.length >= enough) break;
    const found = victimsOn(pod, node, context);
    if ('reasons' in found) for (const reason of found.reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
    else if (found.violations === 0) harmless.push(found);
    else violating.push(found);
  }
  return { candidates: [...harmless, ...violating], reasons: counts };
}

function victimsOn(pod: PodInfo, node: NodeInfo, context: PreemptionContext): Selection {
  const nominated = context.nominations.before(pod, node.name);
  const found = nominated.length === 0 ? context.found : undefined;
  const known = found?.get(node);
  if (known !== undefined) return known;
  let hasLower = false;
  for (const other of node.pods.values()) hasLower ||= mayPreempt(pod, other);
  if (!hasLower) return { reasons: [NO_VICTIMS] };
  context.count(node.pods.size);
  const selection = selectVictims(pod, node, nominated, context);
  found?.set(node, selection);
  return selection;
}
