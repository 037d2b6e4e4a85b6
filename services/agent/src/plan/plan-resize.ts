import type { ContainerState, ResourceLimits } from '../runtime/containers.ts';
import { ownContainersOf, type PodContainer } from '../spec/pod-containers.ts';
import { resourceLimits } from '../spec/resources.ts';
import type { PodInSandbox } from './observed-pod.ts';
import type { PlanDraft } from './pod-plan.ts';

/** How often a resize that the node has no room for is judged again. */
const RETRY_DEFERRED_MS = 10_000;

const FIELDS = ['cpuShares', 'cpuQuotaMicros', 'memoryBytes'] as const;

/** Gives running containers the resources of their spec, as far as their policy does not ask for a restart. */
export function planResize(draft: PlanDraft, observed: PodInSandbox): void {
  const { memory, now } = observed;
  if (memory.resize.kind === 'deferred') draft.requeue(now + RETRY_DEFERRED_MS);
  for (const { running, item } of resized(observed)) {
    if (memory.stopping.has(running.id) || resizeRestarts(running, item)) continue;
    const { id, name } = running;
    const resources = resourceLimits(item.container);
    const last = memory.updates.get(name);
    const isRepeated = last?.containerId === id && isSame(last.resources, resources, ...FIELDS);
    if (isRepeated && now < last.retryAt) draft.requeue(last.retryAt);
    else draft.actions.push({ kind: 'updateContainer', id, name, resources });
  }
}

/** Whether the container has to be restarted for its new resources. */
export function resizeRestarts(running: ContainerState, { container }: PodContainer): boolean {
  const wanted = resourceLimits(container);
  const changed = [
    ...(isSame(wanted, running.resources, 'cpuShares', 'cpuQuotaMicros') ? [] : ['cpu']),
    ...(isSame(wanted, running.resources, 'memoryBytes') ? [] : ['memory']),
  ];
  return (container.resizePolicy ?? []).some(
    ({ resourceName, restartPolicy }) => restartPolicy === 'RestartContainer' && changed.includes(resourceName),
  );
}

/** Running containers whose resources in the engine are not those of their spec. */
export function resized({ pod, containers }: Pick<PodInSandbox, 'pod' | 'containers'>): readonly {
  readonly running: ContainerState;
  readonly item: PodContainer;
}[] {
  return ownContainersOf(pod).flatMap((item) => {
    const running = containers.find(({ name }) => name === item.container.name);
    if (running?.state !== 'running') return [];
    const wanted = resourceLimits(item.container);
    return isSame(wanted, running.resources, ...FIELDS) ? [] : [{ running, item }];
  });
}

function isSame(a: ResourceLimits, b: ResourceLimits, ...fields: readonly (keyof ResourceLimits)[]): boolean {
  return fields.every((field) => a[field] === b[field]);
}
