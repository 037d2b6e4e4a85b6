import type { ObservedPod } from './observed-pod.ts';
import type { PlanDraft } from './pod-plan.ts';

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
