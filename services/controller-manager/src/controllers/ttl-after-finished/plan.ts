import type { Instant, Plan } from '@gantry/base';
import type { Job } from '@gantry/objects';

/** `due` is when the Job's TTL expired. */
export type Action = { readonly kind: 'delete'; readonly job: Job; readonly due: Instant };

/** Deletes a Job `ttlSecondsAfterFinished` after its end; without that field it is kept. */
export function planCleanup(job: Job, now: Instant): Plan<Action> {
  const seconds = job.spec?.ttlSecondsAfterFinished;
  const endedAt = endOf(job);
  if (job.metadata.deletionTimestamp !== undefined || seconds === undefined || endedAt === undefined) {
    return { actions: [] };
  }
  const expiresAt = endedAt + seconds * 1000;
  return expiresAt <= now
    ? { actions: [{ kind: 'delete', job, due: expiresAt }] }
    : { actions: [], requeueAt: expiresAt };
}

/** When a Job ended, in Unix milliseconds; undefined while it continues, or if its status does not contain the time. */
function endOf({ status }: Job): Instant | undefined {
  const end = status?.conditions?.find(
    (condition) => (condition.type === 'Complete' || condition.type === 'Failed') && condition.status === 'True',
  );
  return end?.lastTransitionTime == null ? undefined : Date.parse(end.lastTransitionTime);
}
