import type { Instant } from '@gantry/base';
import type { PodState } from '../runtime/observer.ts';
import type { PodMemory } from './pod-memory.ts';
import type { PlanDraft, PodGoal } from './pod-plan.ts';
import { stopContainer } from './stop-rules.ts';

/**
 * Ends a pod in order: containers stop; then an ended pod loses its sandbox and keeps its containers, a deleted one loses
 * everything and is released when nothing is left.
 */
export function planStop(
  draft: PlanDraft,
  state: Pick<PodState, 'containers' | 'sandboxes'>,
  memory: PodMemory,
  { goal, graceSeconds, now }: { readonly goal: PodGoal; readonly graceSeconds: number; readonly now: Instant },
): void {
  const { containers, sandboxes } = state;
  const running = containers.filter((container) => container.state === 'running');
  for (const container of running) {
    const killAt = memory.stopping.get(container.id);
    // Stopping already, unless the grace period was shortened since.
    if (killAt !== undefined && killAt <= now + graceSeconds * 1000) continue;
    stopContainer(draft, container, graceSeconds, {
      reason: 'Killing',
      message: `Stopping container ${container.name}`,
    });
  }
  if (running.length > 0) return;
  if (goal === 'end') {
    for (const { id, state: run } of sandboxes) if (run === 'running') draft.actions.push({ kind: 'stopSandbox', id });
    return;
  }
  for (const { id } of containers) draft.actions.push({ kind: 'removeContainer', id });
  for (const { id } of sandboxes) draft.actions.push({ kind: 'removeSandbox', id });
  if (containers.length + sandboxes.length === 0) draft.actions.push({ kind: 'release' });
}
