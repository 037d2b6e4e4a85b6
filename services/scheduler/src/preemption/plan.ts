import type { Refusal } from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import type { NodeInfo } from '../framework/snapshot.ts';
import { isMarkedForPreemption, type Nominations } from './nominations.ts';
import { type Candidate, chooseCandidate, mayPreempt, type PreemptionRules, selectVictims } from './select-victims.ts';

/** How a pod that fits on no node can get room. */
export type PreemptionPlan =
  /** It may not preempt, or waits for its victims to end: its nomination stays. */
  | { readonly kind: 'ineligible'; readonly reason: string }
  /** No eviction helps: on so many nodes room was looked for, and this speaks against them. */
  | { readonly kind: 'impossible'; readonly looked: number; readonly reasons: ReasonCounts }
  | { readonly kind: 'possible'; readonly candidate: Candidate };

/** The state of a cycle that plans preemption. */
export interface PreemptionContext extends PreemptionRules {
  readonly nominations: Nominations;
  /** No pod on any node has a lower priority than this. */
  readonly lowestPriority: () => number;
  /** Counts pods that were tried as victims. */
  readonly count: (pods: number) => void;
}

/** The number of nodes by Kubernetes' reason against them. */
export type ReasonCounts = ReadonlyMap<string, number>;

const NO_VICTIMS = 'No preemption victims found for incoming pod';
const BY_POLICY = 'not eligible due to preemptionPolicy=Never.';
const BY_TERMINATION = 'not eligible due to a terminating pod on the nominated node.';

/** Nodes on which victims are looked for end with this number of candidates, or this share of the nodes if that is more. */
const ENOUGH_CANDIDATES = 100;
const SHARE_OF_NODES = 0.1;

/** Which pods have to go so that a refused pod fits on one of the nodes. `offset` in [0, 1) says where the search begins. */
export function planPreemption(
  pod: PodInfo,
  refusals: readonly Refusal[],
  offset: number,
  context: PreemptionContext,
): PreemptionPlan {
  if (pod.pod.spec?.preemptionPolicy === 'Never') return { kind: 'ineligible', reason: BY_POLICY };
  // Of most refused pods: no node is looked at.
  if (context.lowestPriority() >= pod.priority) {
    const looked = refusals.reduce((count, { curable }) => (curable === 'by-room' ? count + 1 : count), 0);
    return { kind: 'impossible', looked, reasons: new Map(looked === 0 ? [] : [[NO_VICTIMS, looked]]) };
  }
  const curable = refusals.filter((refusal) => refusal.curable === 'by-room').map(({ node }) => node);
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
 * Whether a victim on the node that a pod is nominated to terminates: the pod waits. A second look, at a cache that shows only a part of
 * what has been done, must not find further victims.
 */
function awaitsVictim(pod: PodInfo, nominatedNode: NodeInfo, { isLeaving }: PreemptionContext): boolean {
  for (const other of nominatedNode.pods.values()) {
    const isVictim = other.pod.metadata.deletionTimestamp === undefined || isMarkedForPreemption(other.pod);
    if (mayPreempt(pod, other) && isLeaving(other) && isVictim) return true;
  }
  return false;
}

/** Whether the pod has to do no more than to wait on its nominated node. */
function isUnderWay({ nodeName, victims }: Candidate, nominatedTo: string): boolean {
  return nodeName === nominatedTo && victims.length === 0;
}

/** From the offset on; the node that the pod is nominated to comes first, so that of equal nodes it is chosen again. */
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

function victimsOn(pod: PodInfo, node: NodeInfo, context: PreemptionContext): ReturnType<typeof selectVictims> {
  let hasLower = false;
  for (const other of node.pods.values()) hasLower ||= mayPreempt(pod, other);
  if (!hasLower) return { reasons: [NO_VICTIMS] };
  context.count(node.pods.size);
  return selectVictims(pod, node, context.nominations.before(pod, node.name), context);
}
