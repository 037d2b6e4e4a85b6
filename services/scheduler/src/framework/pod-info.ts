import {
  type Amounts,
  type HostPort,
  hostPortsOf,
  type Node,
  type Pod,
  podRequests,
  withHeldResources,
} from '@gantry/objects';
import { type AffinityTerm, type NamespaceLabels, type PodAffinity, podAffinityOf } from './pod-affinity.ts';
import type { ClaimedVolumes } from './claimed-volumes.ts';
import { type PodSpread, podSpreadOf, type SpreadConstraint } from './topology-spread.ts';

/** A pod with the values that scheduling needs, which are computed once for each version of the pod. */
export interface PodInfo {
  /** `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  readonly pod: Pod;
  /** What the pod takes up on its node. While it is being resized, this is the larger of what it had and what it will have. */
  readonly requests: Amounts;
  /** The requests that are not zero. */
  readonly wanted: readonly (readonly [name: string, amount: number])[];
  /** The requests by which nodes are ranked. */
  readonly ranked: RankedAmounts;
  readonly hostPorts: readonly HostPort[];
  /** The uid of the controlling owner, or ''. The pods of one owner are spread over nodes. */
  readonly ownerUid: string;
  readonly priority: number;
  /** The pod's terms about other pods. Absent when it has none. */
  readonly affinity?: PodAffinity | undefined;
  /** How the pod wants to be spread among others. Absent when it has no constraints, and once the cache shows its node. */
  readonly spread?: PodSpread | undefined;
  /** The state of the pod's volumes at the start of the cycle. Absent when it has no claims. */
  readonly volumes?: ClaimedVolumes | undefined;
  /** What other pods mean for this pod while it is decided on. Absent when no term concerns it. */
  readonly neighbours?: Neighbours | undefined;
  /** The counts for the pod's constraints, or the default ones, while it is decided on. Absent when it has none. */
  readonly spreading?: Spreading | undefined;
  /** The images of the pod's containers that nodes have, while it is decided on. Absent when there are none. */
  readonly images?: readonly WantedImage[] | undefined;
}

/** An image of a container. */
export interface WantedImage {
  /** As nodes report it, with a tag or digest. */
  readonly name: string;
  /** The share of all nodes that have it, from 0 to 1. */
  readonly share: number;
}

/** Requests of cpu (in thousandths) and memory (in bytes), with an assumed amount for pods without a request, so that they are spread too. */
export interface RankedAmounts {
  readonly cpu: number;
  readonly memory: number;
}

/** Kubernetes' defaults for each container that does not request the resource. A request of zero is a request. */
const ASSUMED_REQUESTS = { cpu: 100, memory: 200 * 1024 * 1024 };

/** The pods that are on a node. */
export interface NodePods {
  readonly name: string;
  readonly pods: ReadonlyMap<string, PodInfo>;
  /** The pods of the node that have terms about other pods. */
  readonly withTerms: ReadonlyMap<string, PodInfo>;
  /** Of a hypothetical node: the node with the pods that are counted on it. */
  readonly counted?: NodePods;
}

export interface PodDifference {
  readonly added: readonly PodInfo[];
  readonly removed: readonly PodInfo[];
}

/** How the pods of a hypothetical node differ from those that are counted on it. Returns undefined when there is no difference. */
export function differenceOn(node: NodePods, among: 'pods' | 'withTerms'): PodDifference | undefined {
  const { counted } = node;
  if (counted === undefined || counted[among] === node[among]) return undefined;
  const missing = (pods: ReadonlyMap<string, PodInfo>, from: ReadonlyMap<string, PodInfo>) =>
    [...pods.values()].filter((pod) => from.get(pod.key) !== pod);
  return { added: missing(node[among], counted[among]), removed: missing(counted[among], node[among]) };
}

/** A number for each value of a node label. */
export type ByValue = ReadonlyMap<string, number>;

/** How many pods match all of the given terms, for each domain of each term. */
export interface MatchCount {
  readonly terms: readonly AffinityTerm[];
  /** One entry per term, in the same order. Pods on nodes without the label are not counted. */
  readonly byTerm: readonly ByValue[];
}

/** A term that pods on nodes have, with the number of these pods or the sum of their weights, for each domain. */
export interface TermCount {
  readonly term: AffinityTerm;
  readonly byValue: ByValue;
}

/** What the other pods mean for the choice of a pod's node, as the cluster is when the pod is decided on. */
export interface Neighbours {
  readonly namespaces: NamespaceLabels;
  /** The pods that match the pod's required terms. Undefined when it has none. */
  readonly required: MatchCount | undefined;
  /** The pods that match its terms of required anti-affinity, one entry per term. */
  readonly forbidden: readonly MatchCount[];
  /** The terms of required anti-affinity of other pods that select this pod. */
  readonly forbiddenByOthers: readonly TermCount[];
  readonly preferred: readonly { readonly count: MatchCount; readonly weight: number }[];
  /** The preferred terms and the required affinity of other pods that select this pod, with the sums of their weights. */
  readonly preferredByOthers: readonly TermCount[];
}

/** How many pods count for a constraint, for each of its domains. */
export interface DomainCount {
  readonly constraint: SpreadConstraint;
  readonly byValue: ByValue;
  /** The smallest number of pods in any domain but this one. `Infinity` when there is no other domain. */
  leastBeside(value: string): number;
}

/** The counts for a pod's constraints, as the cluster is when the pod is decided on. */
export interface Spreading {
  /** `own` is 1 when the constraint selects the pod itself. */
  readonly required: readonly { readonly count: DomainCount; readonly own: 0 | 1 }[];
  /** Nodes as domains of their own are not counted here. */
  readonly preferred: readonly Pick<DomainCount, 'constraint' | 'byValue'>[];
  /** Whether the pod has no constraints of its own. */
  readonly isDefault: boolean;
  /** How many more pods count on a hypothetical node than were counted there, for each required constraint that spreads over the node. */
  readonly moreOn: (node: NodePods & { readonly node: Node }) => ReadonlyMap<DomainCount, number>;
}

export function createPodInfo(pod: Pod): PodInfo {
  const { namespace = '', name = '', uid = '', ownerReferences = [] } = pod.metadata;
  const held = withHeldResources(pod);
  const requests = podRequests(held);
  return {
    key: `${namespace}/${name}`,
    uid,
    pod,
    requests,
    wanted: Object.entries(requests).filter(([, amount]) => amount > 0),
    ranked: rankedAmounts(held, requests),
    hostPorts: hostPortsOf(pod),
    ownerUid: ownerReferences.find((owner) => owner.controller === true)?.uid ?? '',
    priority: pod.spec?.priority ?? 0,
    affinity: podAffinityOf(pod),
    spread: (pod.spec?.nodeName ?? '') === '' ? podSpreadOf(pod) : undefined,
  };
}

/** Where pod-level requests exist, a default counts only for what neither the pod nor any container requests, as in Kubernetes. */
function rankedAmounts(pod: Pod, requests: Amounts): RankedAmounts {
  const assumed = Object.entries(ASSUMED_REQUESTS).filter(([name]) => requests[name] === undefined);
  const missing = pod.spec?.resources?.requests === undefined ? ASSUMED_REQUESTS : Object.fromEntries(assumed);
  const { cpu = 0, memory = 0 } = podRequests(pod, missing);
  return { cpu, memory };
}

/** The name of the node that a pod is nominated to, or ''. */
export function nominatedNode({ pod }: PodInfo): string {
  return pod.status?.nominatedNodeName ?? '';
}
