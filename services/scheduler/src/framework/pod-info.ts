import { type Amounts, type HostPort, hostPortsOf, type Pod, podRequests, withHeldResources } from '@gantry/objects';
import { type AffinityTerm, type NamespaceLabels, type PodAffinity, podAffinityOf } from './pod-affinity.ts';
import type { ClaimedVolumes } from './claimed-volumes.ts';
import { type PodSpread, podSpreadOf, type SpreadConstraint } from './topology-spread.ts';

/** A pod with the values that scheduling needs, computed once per version. */
export interface PodInfo {
  /** `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  readonly pod: Pod;
  /** What it counts with on its node: while it is resized the most of what it had and what it will have. */
  readonly requests: Amounts;
  readonly hostPorts: readonly HostPort[];
  /** Uid of the controlling owner, or ''. Pods of one owner are spread. */
  readonly ownerUid: string;
  readonly priority: number;
  /** Its terms about other pods; absent without any. */
  readonly affinity?: PodAffinity | undefined;
  /** How it wants to be spread with others; absent without constraints, and once the cache shows its node. */
  readonly spread?: PodSpread | undefined;
  /** The state of its volumes when a cycle begins; absent without claims. */
  readonly volumes?: ClaimedVolumes | undefined;
  /** What other pods mean for it while it is decided on; absent where no term concerns it. */
  readonly neighbours?: Neighbours | undefined;
  /** What its constraints count while it is decided on; absent without any. */
  readonly spreading?: Spreading | undefined;
}

/** The pods that are on a node. */
export interface NodePods {
  readonly name: string;
  readonly pods: ReadonlyMap<string, PodInfo>;
  /** Those that have terms about other pods. */
  readonly withTerms: ReadonlyMap<string, PodInfo>;
}

/** Numbers by the value of a label of nodes. */
export type ByValue = ReadonlyMap<string, number>;

/** How many pods match all of some terms, by the domains of each term. */
export interface MatchCount {
  readonly terms: readonly AffinityTerm[];
  /** In the order of `terms`. Pods on nodes without the label do not count. */
  readonly byTerm: readonly ByValue[];
}

/** A term of pods on nodes, and how many of them have it, or their summed weights, by its domains. */
export interface TermCount {
  readonly term: AffinityTerm;
  readonly byValue: ByValue;
}

/** What other pods mean for the node of a pod, as the cluster is when it is decided on. */
export interface Neighbours {
  readonly namespaces: NamespaceLabels;
  /** Pods that match its required terms; absent when it has none. */
  readonly required: MatchCount | undefined;
  /** Pods that match its terms of required anti-affinity, one after the other. */
  readonly forbidden: readonly MatchCount[];
  /** Required anti-affinity of other pods, which selects it. */
  readonly forbiddenByOthers: readonly TermCount[];
  readonly preferred: readonly { readonly count: MatchCount; readonly weight: number }[];
  /** Preferred terms of other pods, and their required affinity, which select it: with the sums of weights. */
  readonly preferredByOthers: readonly TermCount[];
  /**
   * The pods that a node has in thought and that were not counted on it, and the other way round; undefined when it is as it was counted. For
   * a pod without terms only those with some.
   */
  readonly differenceOn: (node: NodePods) => PodDifference | undefined;
}

/** How many pods count for a constraint, by its domains. */
export interface DomainCount {
  readonly constraint: SpreadConstraint;
  readonly byValue: ByValue;
  /** The fewest pods in any other domain than this one; `Infinity` where there is none. */
  leastBeside(value: string): number;
}

/** What the constraints of a pod count, as the cluster is when it is decided on. */
export interface Spreading {
  /** `own` is 1 where the constraint selects the pod itself. */
  readonly required: readonly { readonly count: DomainCount; readonly own: 0 | 1 }[];
  readonly preferred: readonly DomainCount[];
  /** How many more pods count on a node, as it is in thought, than were counted there: for required constraints that spread over it. */
  readonly moreOn: (node: NodePods) => ReadonlyMap<DomainCount, number>;
}

export interface PodDifference {
  readonly added: readonly PodInfo[];
  readonly removed: readonly PodInfo[];
}

export function createPodInfo(pod: Pod): PodInfo {
  const { namespace = '', name = '', uid = '', ownerReferences = [] } = pod.metadata;
  return {
    key: `${namespace}/${name}`,
    uid,
    pod,
    requests: podRequests(withHeldResources(pod)),
    hostPorts: hostPortsOf(pod),
    ownerUid: ownerReferences.find((owner) => owner.controller === true)?.uid ?? '',
    priority: pod.spec?.priority ?? 0,
    affinity: podAffinityOf(pod),
    spread: (pod.spec?.nodeName ?? '') === '' ? podSpreadOf(pod) : undefined,
  };
}

/** The nominated node of a pod, or ''. */
export function nominatedNode({ pod }: PodInfo): string {
  return pod.status?.nominatedNodeName ?? '';
}
