import { hasEnded, hostPortsClash, hostPortsOf, type Pod } from '@gantry/objects';
import type { PodRejection } from './pod-rejection.ts';

/**
 * Why a node does not take a pod: another one of it has a host port that it asks for. The scheduler looks at that, too, but not at
 * pods that were created with a node. In the words of the kubelet (pkg/kubelet/lifecycle/predicate.go). Of pods that have not
 * started, the one that was created first gets the port.
 */
export function hostPortRejection(pod: Pod, others: readonly Pod[]): PodRejection | undefined {
  const wanted = hostPortsOf(pod);
  if (wanted.length === 0) return undefined;
  const taken = others.filter((other) => isBefore(other, pod)).flatMap(hostPortsOf);
  if (!wanted.some((one) => taken.some((other) => hostPortsClash(one, other)))) return undefined;
  const message = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
  return { reason: 'NodePorts', message };
}

/** Whether `other` counts before `pod` comes: it is not over, and has started or is older. */
function isBefore(other: Pod, pod: Pod): boolean {
  if (other.metadata.uid === pod.metadata.uid) return false;
  if (hasEnded(other)) return false;
  return other.status?.startTime !== undefined || ageOf(other) < ageOf(pod);
}

/** Orders pods by their creation; those of the same second by uid. */
const ageOf = ({ metadata: { creationTimestamp, uid = '' } }: Pod) => `${creationTimestamp ?? ''}/${uid}`;
