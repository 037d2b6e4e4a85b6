import type { Pod } from '@gantry/objects';

/** The reason of the condition `DisruptionTarget` of a pod that the scheduler preempts. */
export const PREEMPTION_REASON = 'PreemptionByScheduler';

/** Whether a pod has the condition of pods that the scheduler preempts. */
export function isMarkedForPreemption({ status }: Pod): boolean {
  const target = status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  return target?.status === 'True' && target.reason === PREEMPTION_REASON;
}
