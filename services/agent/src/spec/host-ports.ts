import { hostPortsClash, hostPortsOf, type Pod } from '@gantry/objects';
import type { PodRejection } from './pod-rejection.ts';

/**
 * Why a node does not take a pod: one that it has admitted has a host port that the pod asks for. The scheduler looks at that, too, but
 * not at pods that were created with a node. In the words of the kubelet (pkg/kubelet/lifecycle/predicate.go).
 */
export function hostPortRejection(pod: Pod, admitted: readonly Pod[]): PodRejection | undefined {
  const wanted = hostPortsOf(pod);
  if (wanted.length === 0) return undefined;
  const taken = admitted.flatMap(hostPortsOf);
  if (!wanted.some((one) => taken.some((other) => hostPortsClash(one, other)))) return undefined;
  const message = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
  return { reason: 'NodePorts', message };
}
