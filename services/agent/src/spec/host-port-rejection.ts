import { hostIpRefusal, type Pod } from '@gantry/objects';
import { ownContainersOf } from './pod-containers.ts';
import type { PodRejection } from './pod-rejection.ts';

/** The addresses that decide which host ports pods of a node may have. */
export interface PortAddresses {
  /** The node's own. */
  readonly nodeAddress: string;
  /** The range of the pods of its engine. */
  readonly podCidr: string;
}

/**
 * Why this node never forwards one of the pod's host ports. Kubernetes has no such check: the port is silent there. A pod in the host's
 * network has its ports without forwarding.
 */
export function hostPortRejection(pod: Pod, addresses: PortAddresses): PodRejection | undefined {
  if (pod.spec?.hostNetwork === true) return undefined;
  for (const { container } of ownContainersOf(pod)) {
    for (const { hostPort = 0, hostIP = '' } of container.ports ?? []) {
      const why = hostPort === 0 ? undefined : hostIpRefusal(hostIP, addresses);
      if (why === undefined) continue;
      const message = `this node cannot forward host port ${hostPort} of container ${container.name} at hostIP ${hostIP}: ${why}`;
      return { reason: 'HostPortNotSupported', message };
    }
  }
  return undefined;
}
