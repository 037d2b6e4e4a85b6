import type { Pod } from '@gantry/objects';
import type { PodGroupState, ResourceLimits } from '../runtime/pod-groups.ts';
import { podResources } from '../spec/resources.ts';

/** Whether the limits of a pod's control group differ from its spec; false without a group. */
export function isGroupResized(pod: Pod, group: PodGroupState | undefined): boolean {
  const wanted = podResources(pod);
  return wanted !== undefined && group !== undefined && !isHeld(wanted, group);
}

/**
 * The next limits of a pod's control group; undefined when it needs no change. `containers` says whether all containers have the
 * resources of their spec. Until then the group gets the larger of old and new limits, since no container may have a higher limit than
 * its pod.
 */
export function nextGroupLimits(
  pod: Pod,
  group: PodGroupState | undefined,
  containers: 'as-wanted' | 'to-change',
): ResourceLimits | undefined {
  const wanted = podResources(pod);
  if (wanted === undefined || group === undefined) return undefined;
  const next = containers === 'as-wanted' ? wanted : largerOf(wanted, group.limits);
  return isHeld(next, group) ? undefined : next;
}

function isHeld(wanted: ResourceLimits, { limits, precision, swap }: PodGroupState): boolean {
  return (
    swap === undefined &&
    isClose(wanted.cpuShares, limits.cpuShares, precision.cpuShares) &&
    wanted.cpuQuotaMicros === limits.cpuQuotaMicros &&
    isClose(wanted.memoryBytes, limits.memoryBytes, precision.memoryBytes)
  );
}

function isClose(one: number | undefined, other: number | undefined, precision: number): boolean {
  return one === other || (one !== undefined && other !== undefined && Math.abs(one - other) < precision);
}

/** The larger value of each field; an absent limit is the largest. */
function largerOf(one: ResourceLimits, other: ResourceLimits): ResourceLimits {
  const limits = (['cpuQuotaMicros', 'memoryBytes'] as const).flatMap((field) => {
    const [left, right] = [one[field], other[field]];
    return left === undefined || right === undefined ? [] : [[field, Math.max(left, right)] as const];
  });
  return { cpuShares: Math.max(one.cpuShares ?? 0, other.cpuShares ?? 0), ...Object.fromEntries(limits) };
}
