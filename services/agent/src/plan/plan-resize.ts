import { type Container, type ContainerStatus, type Pod, quantityMilli } from '@gantry/objects';
import type { ContainerState } from '../runtime/containers.ts';
import { ownContainersOf, type PodContainer } from '../spec/pod-containers.ts';
import { reportedStatus } from '../spec/reported-status.ts';
import { resourceLimits } from '../spec/resources.ts';
import type { PodInSandbox } from './observed-pod.ts';
import { nextGroupLimits } from './pod-group.ts';
import type { PlanDraft } from './pod-plan.ts';
import { containerId } from '../runtime/labels.ts';
import type { ResourceLimits } from '../runtime/pod-groups.ts';

/** How often a deferred resize is checked again. */
const RETRY_DEFERRED_MS = 10_000;

const FIELDS = ['cpuShares', 'cpuQuotaMicros', 'memoryBytes'] as const;

/**
 * Applies the resources of the spec to the pod's control group and to running containers, except where a container's resize policy
 * requires a restart. At no time does a container have a higher limit than its pod, which the kernel would refuse.
 */
export function planResize(draft: PlanDraft, observed: PodInSandbox): void {
  const { pod, memory, now } = observed;
  if (memory.resize.kind === 'deferred') draft.requeue(now + RETRY_DEFERRED_MS);
  const changing = resized(observed);
  if (planGroup(draft, observed, changing.length === 0 ? 'as-wanted' : 'to-change') === 'changes') return;
  for (const { running, item } of changing) {
    if (memory.stopping.has(running.id) || resizeRestarts(pod, running, item)) continue;
    const { id, name } = running;
    const resources = resourceLimits(pod, item.container);
    const last = memory.updates.get(name);
    const isRepeated = last?.containerId === id && isSame(last.resources, resources, ...FIELDS);
    if (isRepeated && now < last.retryAt) draft.requeue(last.retryAt);
    else draft.actions.push({ kind: 'updateContainer', id, name, resources });
  }
}

function planGroup(
  draft: PlanDraft,
  { pod, group, memory, now }: PodInSandbox,
  containers: 'as-wanted' | 'to-change',
): 'changes' | 'stays' {
  const resources = nextGroupLimits(pod, group, containers);
  if (resources === undefined) return 'stays';
  const last = memory.groupUpdate;
  if (last !== undefined && isSame(last.resources, resources, ...FIELDS) && now < last.retryAt) {
    draft.requeue(last.retryAt);
  } else draft.actions.push({ kind: 'updatePodGroup', resources });
  return 'changes';
}

/** Whether the container has to be restarted for its new resources. */
export function resizeRestarts(pod: Pod, running: ContainerState, { container }: PodContainer): boolean {
  if (restartsForRequest(container, reportedStatus(pod, container.name), running)) return true;
  const wanted = resourceLimits(pod, container);
  const changed = [
    ...(isSame(wanted, running.resources, 'cpuShares', 'cpuQuotaMicros') ? [] : ['cpu']),
    ...(isSame(wanted, running.resources, 'memoryBytes') ? [] : ['memory']),
  ];
  return changed.some((resource) => restartsFor(container, resource));
}

/**
 * Whether a new memory request requires a restart of the container. The engine does not store requests, so the container's reported
 * resources are compared.
 */
export function restartsForRequest(
  container: Container,
  reported: ContainerStatus | undefined,
  running: ContainerState,
): boolean {
  if (!restartsFor(container, 'memory') || reported?.containerID !== containerId(running)) return false;
  if (reported.resources === undefined) return false;
  const { memory: before = '0' } = reported.resources.requests ?? {};
  const { memory = '0' } = container.resources?.requests ?? {};
  return quantityMilli(before) !== quantityMilli(memory);
}

function restartsFor({ resizePolicy = [] }: Container, resource: string): boolean {
  return resizePolicy.some(
    ({ resourceName, restartPolicy }) => restartPolicy === 'RestartContainer' && resourceName === resource,
  );
}

/** Running containers whose resources differ from their spec. */
export function resized({ pod, containers }: Pick<PodInSandbox, 'pod' | 'containers'>): readonly {
  readonly running: ContainerState;
  readonly item: PodContainer;
}[] {
  return ownContainersOf(pod).flatMap((item) => {
    const running = containers.find(({ name }) => name === item.container.name);
    if (running?.state !== 'running') return [];
    const wanted = resourceLimits(pod, item.container);
    const isApplied = isSame(wanted, running.resources, ...FIELDS);
    const restarts = restartsForRequest(item.container, reportedStatus(pod, item.container.name), running);
    return isApplied && !restarts ? [] : [{ running, item }];
  });
}

function isSame(a: ResourceLimits, b: ResourceLimits, ...fields: readonly (keyof ResourceLimits)[]): boolean {
  return fields.every((field) => a[field] === b[field]);
}
