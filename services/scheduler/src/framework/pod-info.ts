import { type Amounts, type HostPort, hostPortsOf, type Pod, podRequests, withHeldResources } from '@gantry/objects';
import type { Neighbours } from './affinity-counts.ts';
import { type PodAffinity, podAffinityOf } from './pod-affinity.ts';
import type { PodVolumes } from './pod-volumes.ts';

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
  /** The state of its volumes when a cycle begins; absent without claims. */
  readonly volumes?: PodVolumes | undefined;
  /** What other pods mean for it while it is decided on; absent where no term concerns it. */
  readonly neighbours?: Neighbours | undefined;
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
  };
}

/** The nominated node of a pod, or ''. */
export function nominatedNode({ pod }: PodInfo): string {
  return pod.status?.nominatedNodeName ?? '';
}
