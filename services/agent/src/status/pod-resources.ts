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

/** A pod's allocated resources on its node, and its pod-level resources. `pod` must have the resources in effect. */
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
    // A quantity may be older than its validation. That must not block the pod.
    return {};
  }
}

/** The pod's own pod-level resources. During a resize, the limits are those from before. */
function ofPod(pod: Pod, { resources = {} }: PodSpec, group: PodGroupState | undefined): ResourceRequirements {
  const before = isGroupResized(pod, group) ? pod.status?.resources : undefined;
  const { requests } = resources;
  const { limits } = before ?? resources;
  return { ...(limits === undefined ? {} : { limits }), ...(requests === undefined ? {} : { requests }) };
}

/**
 * The sums of the containers' granted resources, for a pod without pod-level resources. If the pod requests pod-level resources later,
 * these sums count as granted until the resize is granted.
 *
 * It differs from the kubelet in two ways. The pod has no limit if a container has none (the kubelet reports one for a pending pod),
 * because the limit would restrict that container. And overhead is not included, because it is added to the granted resources elsewhere.
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
