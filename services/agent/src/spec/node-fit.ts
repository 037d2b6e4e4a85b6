import {
  addAmounts,
  findUntoleratedTaint,
  matchesNodeAffinity,
  NO_AMOUNTS,
  type Node,
  parseAmounts,
  type Pod,
  podRequests,
} from '@gantry/objects';
import { hostPortRejection } from './host-ports.ts';
import type { PodRejection } from './pod-rejection.ts';
import { allocatedPod } from './resize.ts';
import type { Shortage } from './shortage.ts';
import { isStaticPod } from './static-pod.ts';

/** The resources of which kubelet names a shortage first; others follow by name. */
const FIRST = ['cpu', 'memory', 'ephemeral-storage'];

/**
 * What a node lacks for a pod beside the pods that it has admitted, in the scheduler's order (noderesources' Fits). Extended resources
 * that the node does not have are not its own to refuse, as in kubelet: they belong to the cluster.
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
 * Why a node must not run a pod, whatever room it has: the first of kubelet's other predicates that fails. A pod is found by its node's
 * name, so that NodeName never fails.
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
