import {
  addAmounts,
  findUntoleratedTaint,
  matchesNodeAffinity,
  NO_AMOUNTS,
  type Node,
  parseAmounts,
  type Pod,
  podRequests,
  hostPortsClash,
  hostPortsOf,
  hostIpRefusal,
} from '@gantry/objects';
import type { PodRejection } from './pod-rejection.ts';
import type { Shortage } from './shortage.ts';
import { allocatedPod } from './resize.ts';
import { isStaticPod } from './static-pod.ts';
import { ownContainersOf } from './pod-containers.ts';

/** The order in which the kubelet reports shortages; other resources follow by name. */
const FIRST = ['cpu', 'memory', 'ephemeral-storage'];

/**
 * The resources that a node lacks for a pod besides the admitted pods, in the scheduler's order (noderesources' Fits). Like in the
 * kubelet, an extended resource that the node does not have is ignored: it belongs to the cluster.
 */
export function shortagesOf(pod: Pod, node: Node, admitted: readonly Pod[]): readonly Shortage[] {
  const allocatable = parseAmounts(node.status?.allocatable);
  const used = admitted.map((other) => podRequests(allocatedPod(other))).reduce(addAmounts, NO_AMOUNTS);
  const asked: (readonly [string, number])[] = Object.entries(podRequests(pod))
    .filter(([name, amount]) => amount > 0 && (allocatable[name] !== undefined || !name.includes('/')))
    .sort(([one], [other]) => rankOf(one) - rankOf(other) || (one < other ? -1 : 1));
  return [['pods', 1] as const, ...asked].flatMap(([resource, requested]) => {
    const held = resource === 'pods' ? admitted.length : (used[resource] ?? 0);
    const capacity = allocatable[resource] ?? 0;
    return requested <= capacity - held ? [] : [{ resource, requested, used: held, capacity }];
  });
}

function rankOf(resource: string): number {
  const rank = FIRST.indexOf(resource);
  return rank === -1 ? FIRST.length : rank;
}

/**
 * Why a node cannot run a pod apart from resources: the first of the kubelet's other predicates that fails. NodeName is not checked,
 * since the pod was found by its node's name.
 */
export function mismatchOf(pod: Pod, node: Node, admitted: readonly Pod[]): PodRejection | undefined {
  if (!matchesNodeAffinity(pod.spec, node)) {
    return failed('NodeAffinity', "node(s) didn't match Pod's node affinity/selector");
  }
  const ports = hostPortRejection(pod, admitted);
  if (ports !== undefined || isStaticPod(pod)) return ports;
  const taint = findUntoleratedTaint(node.spec?.taints, pod.spec?.tolerations, ['NoExecute']);
  return taint === undefined ? undefined : failed('TaintToleration', "node(s) had taints that the pod didn't tolerate");
}

function failed(predicate: string, description: string): PodRejection {
  return { reason: predicate, message: `Predicate ${predicate} failed: ${description}` };
}

/**
 * Why a node rejects a pod: an admitted pod already uses one of its host ports. The scheduler checks this, too, but not for pods that
 * were created with a node name. The message is the kubelet's (pkg/kubelet/lifecycle/predicate.go).
 */
export function hostPortRejection(pod: Pod, admitted: readonly Pod[]): PodRejection | undefined {
  const wanted = hostPortsOf(pod);
  if (wanted.length === 0) return undefined;
  const taken = admitted.flatMap(hostPortsOf);
  if (!wanted.some((one) => taken.some((other) => hostPortsClash(one, other)))) return undefined;
  const message = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
  return { reason: 'NodePorts', message };
}

/** Addresses that decide which host ports the node can forward. */
export interface PortAddresses {
  /** The node's own address. */
  readonly nodeAddress: string;
  /** The range of pods on the node's engine. */
  readonly podCidr: string;
}

/**
 * Why this node cannot forward one of the pod's host ports. Kubernetes has no such check; the port just does not answer there. Pods in
 * the host's network need no forwarding.
 */
export function unforwardedPort(pod: Pod, addresses: PortAddresses): PodRejection | undefined {
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
