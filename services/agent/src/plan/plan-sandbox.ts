import { containerNamed, graceSecondsOf } from '../spec/pod-containers.ts';
import { startsNoMore, type ObservedPod } from './observed-pod.ts';
import { planContainers, planVolumes } from './plan-containers.ts';
import { endContainers } from './plan-stop.ts';
import { type ContainerStart, PlanDraft } from './pod-plan.ts';
import { SANDBOX_CHANGED, stopContainer } from './stop-rules.ts';

/**
 * For a pod without a running sandbox: stops running containers, mounts the volumes, then creates the next sandbox. A new pod gets
 * volumes, sandbox and first containers in one action.
 */
export function planSandbox(draft: PlanDraft, observed: ObservedPod): void {
  const { pod, containers, sandboxes, memory, now } = observed;
  const running = containers.filter((container) => container.state === 'running');
  if (startsNoMore(observed)) {
    endContainers(draft, running, { pod, memory, graceSeconds: graceSecondsOf(pod), now });
    return;
  }
  for (const container of running) {
    if (memory.stopping.has(container.id)) continue;
    const preStop = containerNamed(pod, container.name)?.lifecycle?.preStop;
    stopContainer(draft, container, graceSecondsOf(pod), { ...SANDBOX_CHANGED, preStop });
  }
  if (running.length > 0) return;
  if (isNew(observed)) {
    const volumes = memory.volumes === 'ready' ? 'mounted' : 'to-mount';
    draft.actions.push({ kind: 'createSandbox', attempt: 0, volumes, first: firstContainers(observed) });
    return;
  }
  if (!planVolumes(draft, observed)) return;
  for (const { id } of sandboxes) draft.actions.push({ kind: 'removeSandbox', id });
  if (memory.sandbox !== undefined && now < memory.sandbox.retryAt) {
    draft.requeue(memory.sandbox.retryAt);
    return;
  }
  const attempt = Math.max(-1, ...sandboxes.map((sandbox) => sandbox.attempt)) + 1;
  draft.actions.push({ kind: 'createSandbox', attempt, volumes: 'mounted', first: [] });
}

/** Whether nothing of the pod was created or has failed before. */
function isNew({ containers, sandboxes, memory }: ObservedPod): boolean {
  const isUntried = memory.sandbox === undefined && typeof memory.volumes === 'string';
  return isUntried && containers.length === 0 && sandboxes.length === 0;
}

/** The containers that start as soon as the pod has its volumes and first sandbox. */
function firstContainers(observed: ObservedPod): readonly ContainerStart[] {
  const { memory, now } = observed;
  const sandbox = { id: '', attempt: 0, state: 'running', group: 'engine', createdAt: now, address: '' } as const;
  const next = new PlanDraft();
  planContainers(next, { ...observed, memory: { ...memory, volumes: 'ready' }, sandbox });
  return next.actions.flatMap((action) => {
    if (action.kind !== 'startContainer') return [];
    const { container, role, attempt, restartDelayMs } = action;
    return [{ container, role, attempt, restartDelayMs }];
  });
}
