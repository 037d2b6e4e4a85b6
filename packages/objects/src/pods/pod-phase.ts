import type { Pod } from '../generated/types.ts';

/** Whether a pod has come to its end: its phase is `Succeeded` or `Failed`, and stays so. False for no pod. */
export function hasEnded(pod: Pod | undefined): boolean {
  return isFinalPhase(pod?.status?.phase);
}

/** Whether a phase of a pod is its last one. */
export function isFinalPhase(phase: string | undefined): phase is 'Succeeded' | 'Failed' {
  return phase === 'Succeeded' || phase === 'Failed';
}
