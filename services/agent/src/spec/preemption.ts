import { append } from '@gantry/base';
import { type Pod, podRequests } from '@gantry/objects';
import { isCriticalPod } from './critical-pod.ts';
import { allocatedPod } from './resize.ts';
import type { Shortage } from './shortage.ts';

/** Messages in the victim's status and Event, and in its condition. */
export const PREEMPTED = 'Preempted in order to admit critical pod';
export const PREEMPTED_CONDITION = 'Pod was preempted by Kubelet to accommodate a critical pod.';

/** The missing amount of a resource. */
interface Requirement {
  readonly resource: string;
  readonly quantity: number;
}

/** The pods to evict for a critical pod, or why preemption is impossible. */
export type Preemption =
  | { readonly kind: 'possible'; readonly victims: readonly Pod[] }
  | { readonly kind: 'impossible'; readonly message: string };

/** In the order of preemption. */
const QOS_CLASSES = ['BestEffort', 'Burstable', 'Guaranteed'];

/**
 * Finds the fewest pods to evict for a critical pod, lowest QoS class first, like the kubelet (pkg/kubelet/preemption).
 *
 * It differs from the kubelet in two ways. The kubelet uses priorities only to decide which pods may be evicted; here a pod of lower
 * priority is evicted before one of a lower QoS class, as in the scheduler and in evictions. And at most the pod's own requests are
 * freed: a node's share of its host shrinks when agents are added, and pods that ran before must not be evicted for that.
 */
export function planPreemption(pod: Pod, running: readonly Pod[], shortages: readonly Shortage[]): Preemption {
  const requirements = shortages.map(({ resource, requested, used, capacity }): Requirement => {
    return { resource, quantity: Math.min(requested, requested - (capacity - used)) };
  });
  const groups = preemptableGroups(pod, running);
  const left: (readonly Requirement[])[] = [requirements];
  for (const group of groups) left.push(subtract(left.at(-1) ?? [], group));
  const short = left.at(-1) ?? [];
  const unmet = short.length > 0 ? short : shortages.flatMap(beyondNode);
  if (unmet.length > 0) {
    const listed = unmet.map(({ resource, quantity }) => `(res: ${resource}, q: ${quantity}), `).join('');
    const cause = `no set of running pods found to reclaim resources: [${listed}]`;
    const message = `Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: ${cause}`;
    return { kind: 'impossible', message };
  }
  const victims: Pod[] = [];
  for (const [index, group] of [...groups.entries()].reverse()) {
    append(victims, nearest(group, subtract(left[index] ?? [], victims)));
  }
  return { kind: 'possible', victims };
}

/** The part of a request that exceeds the node's capacity; no eviction can provide it. */
function beyondNode({ resource, requested, capacity }: Shortage): readonly Requirement[] {
  return requested > capacity ? [{ resource, quantity: requested - capacity }] : [];
}

/** Preemptable pods in groups of equal priority and QoS class, in the order of preemption. */
function preemptableGroups(pod: Pod, running: readonly Pod[]): readonly (readonly Pod[])[] {
  const groups: Pod[][] = [];
  for (const one of running.filter((other) => isPreemptable(pod, other)).sort(byRank)) {
    const last = groups.at(-1);
    if (last?.[0] !== undefined && byRank(last[0], one) === 0) last.push(one);
    else groups.push([one]);
  }
  return groups;
}

function byRank(one: Pod, other: Pod): number {
  if (isPreemptable(one, other)) return 1;
  if (isPreemptable(other, one)) return -1;
  return QOS_CLASSES.indexOf(one.status?.qosClass ?? '') - QOS_CLASSES.indexOf(other.status?.qosClass ?? '');
}

/** Whether `pod` may preempt `other` (kubelet's Preemptable). */
function isPreemptable(pod: Pod, other: Pod): boolean {
  if (isCriticalPod(pod) && !isCriticalPod(other)) return true;
  const [own, others] = [pod.spec?.priority, other.spec?.priority];
  return own !== undefined && others !== undefined && own > others;
}

/** Repeatedly picks the pod that comes closest to the missing amounts, until nothing is missing. Among equal pods, the smallest. */
function nearest(group: readonly Pod[], requirements: readonly Requirement[]): readonly Pod[] {
  const rest = [...group];
  const chosen: Pod[] = [];
  let missing = requirements;
  while (missing.length > 0 && rest.length > 0) {
    const distances = rest.map((pod) => distance(pod, missing));
    const least = Math.min(...distances);
    const equal = rest.filter((_, index) => distances[index] === least);
    const best = equal.reduce((smallest, pod) => (isSmaller(pod, smallest) ? pod : smallest));
    rest.splice(rest.indexOf(best), 1);
    chosen.push(best);
    missing = subtract(missing, [best]);
  }
  return chosen;
}

/** The sum of squares of the unmet share of each requirement, so that all requirements have equal weight. */
function distance(pod: Pod, requirements: readonly Requirement[]): number {
  return requirements.reduce((sum, { resource, quantity }) => {
    const rest = Math.max(0, quantity - amountOf(pod, resource));
    return sum + (rest / quantity) ** 2;
  }, 0);
}

function subtract(requirements: readonly Requirement[], pods: readonly Pod[]): readonly Requirement[] {
  return requirements.flatMap(({ resource, quantity }) => {
    const rest = pods.reduce((left, pod) => left - amountOf(pod, resource), quantity);
    return rest > 0 ? [{ resource, quantity: rest }] : [];
  });
}

function isSmaller(pod: Pod, than: Pod): boolean {
  const difference = (resource: string) => amountOf(pod, resource) - amountOf(than, resource);
  return (difference('memory') || difference('cpu')) < 0;
}

function amountOf(pod: Pod, resource: string): number {
  return resource === 'pods' ? 1 : (podRequests(allocatedPod(pod))[resource] ?? 0);
}
