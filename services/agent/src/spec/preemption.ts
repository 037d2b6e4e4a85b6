import { append } from '@gantry/base';
import { type Pod, podRequests } from '@gantry/objects';
import { isCriticalPod } from './critical-pod.ts';
import { allocatedPod } from './resize.ts';
import type { Shortage } from './shortage.ts';

/** Of the victim's status and its Event, and of its condition. */
export const PREEMPTED = 'Preempted in order to admit critical pod';
export const PREEMPTED_CONDITION = 'Pod was preempted by Kubelet to accommodate a critical pod.';

/** How much of a resource is missing. */
interface Requirement {
  readonly resource: string;
  readonly quantity: number;
}

/** Which pods make room for a critical one, or why none can. */
export type Preemption =
  | { readonly kind: 'possible'; readonly victims: readonly Pod[] }
  | { readonly kind: 'impossible'; readonly message: string };

/** From those that go first. */
const QOS_CLASSES = ['BestEffort', 'Burstable', 'Guaranteed'];

/**
 * The fewest pods that make room for a critical pod, those of the lowest QoS class first, as kubelet finds them (pkg/kubelet/preemption).
 * With two differences. Kubelet looks at priorities only to decide which pods may go; here a pod of a lower priority goes before one of a
 * lower QoS class, as the scheduler and evictions have it. And the pod's own requests are the most that is taken from others: a node's
 * amounts are its share of a host, which becomes smaller when agents are added, and pods that ran before do not pay for that.
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

/** What a pod asks for beyond all that the node has: no eviction gives it that. */
function beyondNode({ resource, requested, capacity }: Shortage): readonly Requirement[] {
  return requested > capacity ? [{ resource, quantity: requested - capacity }] : [];
}

/** Pods that may go, in groups of equal priority and QoS class; those that go first come first. */
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

/** Whether a pod is worth more than another one (kubelet's Preemptable). */
function isPreemptable(pod: Pod, other: Pod): boolean {
  if (isCriticalPod(pod) && !isCriticalPod(other)) return true;
  const [own, others] = [pod.spec?.priority, other.spec?.priority];
  return own !== undefined && others !== undefined && own > others;
}

/** Picks the pod that comes nearest to what is missing, until nothing is; of equal ones the smaller. */
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

/** By the share of each requirement that the pod does not meet, so that all weigh the same. */
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
