import { containerNamed, graceSecondsOf } from '../spec/pod-containers.ts';
import { startsNoMore, type ObservedPod } from './observed-pod.ts';
import { endContainers } from './plan-stop.ts';
import type { PlanDraft } from './pod-plan.ts';
import { SANDBOX_CHANGED, stopContainer } from './stop-rules.ts';

/** For a pod without a running sandbox: stops what still runs, mounts volumes, then creates the next sandbox. */
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
  if (!planVolumes(draft, observed)) return;
  for (const { id } of sandboxes) draft.actions.push({ kind: 'removeSandbox', id });
  if (memory.sandbox !== undefined && now < memory.sandbox.retryAt) {
    draft.requeue(memory.sandbox.retryAt);
    return;
  }
  const attempt = Math.max(-1, ...sandboxes.map((sandbox) => sandbox.attempt)) + 1;
  draft.actions.push({ kind: 'createSandbox', attempt });
}

/**
 * True when the volumes are ready. A restarted agent brings the volumes of running containers up to date before it starts
 * anything.
 */
export function planVolumes(draft: PlanDraft, { memory: { volumes }, now }: ObservedPod): boolean {
  if (volumes === 'ready') return true;
  if (typeof volumes === 'object' && now < volumes.retryAt) draft.requeue(volumes.retryAt);
  else draft.actions.push({ kind: 'mountVolumes' });
  return false;
}
