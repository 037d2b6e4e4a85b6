import { canonicalQuantity, type Pod, podRequests, type PodStatus, resourcesOfPod } from '@gantry/objects';
import { isGroupResized } from '../plan/pod-group.ts';
import type { PodGroupState } from '../runtime/pod-groups.ts';

/**
 * Of a pod that says something for itself as a whole: what it was granted, and what it is held to. During a resize, limits are those of
 * before. `pod` has the resources that are in force.
 */
export function podResourcesStatus(
  pod: Pod,
  group: PodGroupState | undefined,
): Pick<PodStatus, 'resources' | 'allocatedResources'> {
  const { resources } = pod.spec ?? {};
  if (resources === undefined || resourcesOfPod(pod).size === 0) return {};
  const before = isGroupResized(pod, group) ? pod.status?.resources : undefined;
  const { requests } = resources;
  const limits = (before ?? resources).limits;
  return {
    allocatedResources: allocated(pod),
    resources: { ...(limits === undefined ? {} : { limits }), ...(requests === undefined ? {} : { requests }) },
  };
}

/** What the pod requests with its containers and its overhead; in its own words where these are the same. */
function allocated(pod: Pod): Record<string, string> {
  const { resources, overhead } = pod.spec ?? {};
  return Object.fromEntries(
    Object.entries(podRequests(pod)).map(([name, amount]) => {
      const own = overhead?.[name] === undefined ? resources?.requests?.[name] : undefined;
      return [name, own ?? quantityOf(name, amount)];
    }),
  );
}

function quantityOf(name: string, amount: number): string {
  if (name === 'cpu') return canonicalQuantity(`${amount}m`);
  return canonicalQuantity(amount % 1024 === 0 ? `${amount / 1024}Ki` : amount);
}
