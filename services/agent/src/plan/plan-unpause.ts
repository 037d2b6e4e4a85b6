import type { PodState } from '../runtime/observer.ts';
import type { PlanDraft } from './pod-plan.ts';

/**
 * Lets paused parts of a pod go on. The API has no word for a paused container: it would be shown as running, and without probes as
 * ready, while it does nothing. Who pauses one for a moment, as `docker commit` does, finds it unpaused.
 */
export function planUnpause(
  draft: PlanDraft,
  { containers, sandboxes }: Pick<PodState, 'containers' | 'sandboxes'>,
): void {
  for (const { id, activity } of sandboxes) if (activity === 'paused') draft.actions.push({ kind: 'unpause', id });
  for (const { id, name, activity } of containers)
    if (activity === 'paused') draft.actions.push({ kind: 'unpause', id, name });
}
