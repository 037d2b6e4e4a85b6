import {
  isPodLevelResource,
  type Pod,
  podAmounts,
  podAmountsWithOverhead,
  type PodSpec,
  type PodStatus,
  QuantityError,
  type ResourceRequirements,
  resourcesOfPod,
} from '@gantry/objects';
import { isGroupResized } from '../plan/pod-group.ts';
import type { PodGroupState } from '../runtime/pod-groups.ts';
import { isLimited } from '../spec/resources.ts';

/** What a pod counts with on its node, and its pod-level resources. `pod` has the resources that are in force. */
export function podResourcesStatus(
  pod: Pod,
  group: PodGroupState | undefined,
): Pick<PodStatus, 'resources' | 'allocatedResources'> {
  const { spec } = pod;
  if (spec === undefined) return {};
  try {
    const allocatedResources = podAmountsWithOverhead(spec, 'requests');
    return {
      ...(isEmpty(allocatedResources) ? {} : { allocatedResources }),
      resources: resourcesOfPod(pod).size === 0 ? ofContainers(pod, spec) : ofPod(pod, spec, group),
    };
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
    // A quantity may be older than its validation. That must not hold up the pod.
    return {};
  }
}

/** What a pod says for itself. During a resize, limits are those of before. */
function ofPod(pod: Pod, { resources = {} }: PodSpec, group: PodGroupState | undefined): ResourceRequirements {
  const before = isGroupResized(pod, group) ? pod.status?.resources : undefined;
  const { requests } = resources;
  const { limits } = before ?? resources;
  return { ...(limits === undefined ? {} : { limits }), ...(requests === undefined ? {} : { requests }) };
}

/**
 * What the containers of a pod without pod-level resources were granted together. If the pod asks for such resources later, these are what
 * it was granted at pod level until then. Therefore it has no limit where a container has none, which kubelet reports of a pending pod: the
 * limit would hold that container. And it has no overhead, which kubelet reports: the overhead is added to what was granted.
 */
function ofContainers(pod: Pod, spec: PodSpec): ResourceRequirements {
  const sums = podAmounts(spec, 'limits');
  const limits = Object.fromEntries(
    (['cpu', 'memory'] as const).flatMap((name) => {
      const limit = sums[name];
      return limit !== undefined && isLimited(pod, name) ? [[name, limit]] : [];
    }),
  );
  const requests = Object.fromEntries(
    Object.entries(podAmounts(spec, 'requests')).filter(([name]) => isPodLevelResource(name)),
  );
  return { ...(isEmpty(limits) ? {} : { limits }), ...(isEmpty(requests) ? {} : { requests }) };
}

function isEmpty(list: object): boolean {
  return Object.keys(list).length === 0;
}
