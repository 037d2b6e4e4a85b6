import { hasEnded, type Job, type Pod, TRACKING_FINALIZER } from '@gantry/objects';

/** Annotation and label of the pods of an Indexed Job. */
export const COMPLETION_INDEX = 'batch.kubernetes.io/job-completion-index';
/** The `spec.managedBy` of Jobs that this controller runs; an absent one means the same. */
const OWN_NAME = 'kubernetes.io/job-controller';

export function isIndexed({ spec }: Job): boolean {
  return spec?.completionMode === 'Indexed';
}

export function isSuspended({ spec }: Job): boolean {
  return spec?.suspend === true;
}

/** Whether each index has its own limit: failures are then counted in annotations of its pods. */
export function limitsEachIndex({ spec }: Job): boolean {
  return spec?.backoffLimitPerIndex !== undefined;
}

/** Whether a terminating pod is replaced, and counted as failed, only after it has ended. */
export function replacesOnlyFailed({ spec }: Job): boolean {
  return spec?.podReplacementPolicy === 'Failed' || spec?.podFailurePolicy !== undefined;
}

export function isManagedElsewhere({ spec }: Job): boolean {
  return spec?.managedBy !== undefined && spec.managedBy !== OWN_NAME;
}

/** Whether a Job is complete or has failed. */
export function isJobFinished({ status }: Job): boolean {
  return (status?.conditions ?? []).some(
    (condition) => (condition.type === 'Complete' || condition.type === 'Failed') && condition.status === 'True',
  );
}

export function hasFinalizer({ metadata }: Pod): boolean {
  return metadata.finalizers?.includes(TRACKING_FINALIZER) === true;
}

/** Whether a pod counts as failed for its Job. */
export function isFailed(pod: Pod, job: Job): boolean {
  if (pod.status?.phase === 'Failed') return true;
  // A deleted pod may never reach a final phase.
  return !replacesOnlyFailed(job) && pod.metadata.deletionTimestamp !== undefined && !hasEnded(pod);
}

/** The completion index in a pod's annotation; undefined if absent or invalid. */
export function completionIndex({ metadata }: Pod): number | undefined {
  const text = metadata.annotations?.[COMPLETION_INDEX];
  return text === undefined || !/^\+?\d{1,10}$/.test(text) ? undefined : Number(text);
}

/** The completion index of a pod, if it is one of the Job's. */
export function validIndex(pod: Pod, { spec }: Job): number | undefined {
  const index = completionIndex(pod);
  return index !== undefined && index < (spec?.completions ?? 0) ? index : undefined;
}
