import type { Instant, Plan } from '@gantry/base';
import type { Job } from '@gantry/objects';

/** `due` is when the Job's time ran out. */
export type Action = { readonly kind: 'delete'; readonly job: Job; readonly due: Instant };

/** A Job that has ended is deleted `ttlSecondsAfterFinished` after its end; without that field it stays. */
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

/** When a Job ended, in Unix milliseconds; undefined while it goes on, or when its status does not say when. */
function endOf({ status }: Job): Instant | undefined {
  const end = status?.conditions?.find(
    (condition) => (condition.type === 'Complete' || condition.type === 'Failed') && condition.status === 'True',
  );
  return end?.lastTransitionTime == null ? undefined : Date.parse(end.lastTransitionTime);
}
