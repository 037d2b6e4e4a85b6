import { resized, resizeRestarts } from '../plan/plan-resize.ts';
import { AgentError } from '../runtime/agent-error.ts';
import { grantedPod } from '../spec/resize.ts';
import { podResources, resourceLimits } from '../spec/resources.ts';
import type { ActionContext } from './action-context.ts';

interface Decrease {
  readonly id: string;
  readonly name: string;
  readonly limit: number;
}

/**
 * AgentError with the kubelet's message when a resize would leave a running container less memory than it uses; cgroup v2 would kill it.
 * Nothing of such a resize is applied. Memory that containers allocate after this check can still exceed the limit; the kernel handles
 * that.
 */
export async function checkMemoryDecreases(context: ActionContext): Promise<void> {
  const { services, step } = context;
  const decreases = decreasesOf(context);
  const ofPod = await decreaseOfPod(context);
  if (decreases.length === 0 && ofPod.length === 0) return;
  const ids = decreases.map(({ id }) => id);
  const stats = await services.runtime.stats.readStats(ids, step);
  const ofContainers = decreases.flatMap(({ id, name, limit }) => {
    const usage = stats.get(id)?.memoryUsageBytes;
    if (usage === undefined) return [`missing container ${JSON.stringify(name)} memory usage`];
    if (usage < limit) return [];
    return [
      `attempting to set container ${JSON.stringify(name)} memory limit (${limit}) below current usage (${usage})`,
    ];
  });
  const refusals = [...ofPod, ...ofContainers];
  if (refusals.length === 0) return;
  const [first] = refusals;
  const why = refusals.length === 1 ? first : `[${refusals.join(', ')}]`;
  throw new AgentError('Runtime', `cannot decrease memory limits: ${why}`);
}

/** Why a lower pod-level limit is refused; empty if it is not. */
async function decreaseOfPod({ uid, pod, state, memory, services }: ActionContext): Promise<readonly string[]> {
  const group = state?.group;
  if (pod === undefined || group === undefined) return [];
  const limit = podResources(grantedPod(pod, memory.resize))?.memoryBytes;
  const { limits, precision } = group;
  if (limit === undefined || limit > (limits.memoryBytes ?? Infinity) - precision.memoryBytes) return [];
  const usage = await services.runtime.podGroups.readPodMemory({ owner: services.owner, uid });
  if (usage === undefined) return ['missing pod memory usage'];
  return usage < limit ? [] : [`attempting to set pod memory limit (${limit}) below current usage (${usage})`];
}

/** Running containers whose memory limit decreases, or that get one. */
function decreasesOf({ pod, state, memory }: ActionContext): readonly Decrease[] {
  if (pod === undefined) return [];
  const changing = resized({ pod: grantedPod(pod, memory.resize), containers: state?.containers ?? [] });
  return changing.flatMap(({ running, item }) => {
    const { id, name, resources } = running;
    const limit = resourceLimits(pod, item.container).memoryBytes;
    if (limit === undefined || limit >= (resources.memoryBytes ?? Number.POSITIVE_INFINITY)) return [];
    return resizeRestarts(pod, running, item) ? [] : [{ id, name, limit }];
  });
}
