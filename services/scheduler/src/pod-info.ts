import type { Pod } from '@gantry/api';
import { type Amounts, podRequests } from './resources.ts';

/** A port on the node's own address that a pod's container asks for. */
export interface HostPort {
  readonly protocol: string;
  /** '0.0.0.0' for all addresses. */
  readonly address: string;
  readonly port: number;
}

/** A pod as scheduling sees it; what is costly to find out is found out once per version. */
export interface PodInfo {
  /** `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  readonly pod: Pod;
  readonly requests: Amounts;
  readonly hostPorts: readonly HostPort[];
  /** Uid of the controlling owner; '' without one. Pods of one owner are spread. */
  readonly ownerUid: string;
  readonly priority: number;
}

export function createPodInfo(pod: Pod): PodInfo {
  const { namespace = '', name = '', uid = '', ownerReferences = [] } = pod.metadata;
  return {
    key: `${namespace}/${name}`,
    uid,
    pod,
    requests: podRequests(pod),
    hostPorts: hostPortsOf(pod),
    ownerUid: ownerReferences.find((owner) => owner.controller === true)?.uid ?? '',
    priority: pod.spec?.priority ?? 0,
  };
}

function hostPortsOf(pod: Pod): readonly HostPort[] {
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  return containers.flatMap((container) =>
    (container.ports ?? []).flatMap(({ hostPort, hostIP, protocol = 'TCP' }) =>
      hostPort === undefined || hostPort === 0
        ? []
        : [{ protocol, address: hostIP === undefined || hostIP === '' ? '0.0.0.0' : hostIP, port: hostPort }],
    ),
  );
}

/** Whether a pod has ended for good and takes nothing from its node any more. */
export function isFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}
