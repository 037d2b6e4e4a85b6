import { formatTime, type Instant } from '@gantry/base';
import type { CronJobStatus, Job, ObjectReference } from '@gantry/objects';

/** The type of the condition with which a Job has ended; undefined while it has not. */
export function endOf({ status }: Job): 'Complete' | 'Failed' | undefined {
  const end = (status?.conditions ?? []).find(
    (condition) => (condition.type === 'Complete' || condition.type === 'Failed') && condition.status === 'True',
  );
  return end?.type as 'Complete' | 'Failed' | undefined;
}

export function isListed({ active = [] }: CronJobStatus, uid: string | undefined): boolean {
  return active.some((reference) => reference.uid === uid);
}

/** The status with these active Jobs; the field is omitted if there are none. */
export function withActive(status: CronJobStatus, active: readonly ObjectReference[]): CronJobStatus {
  const { active: _old, ...rest } = status;
  return active.length === 0 ? rest : { active: [...active], ...rest };
}

/** The status without the Jobs with these uids. */
export function withoutJobs(status: CronJobStatus, uids: ReadonlySet<string | undefined>): CronJobStatus {
  return withActive(
    status,
    (status.active ?? []).filter(({ uid }) => !uids.has(uid)),
  );
}

/** The status with a Job that was started for a scheduled time. */
export function withStarted(status: CronJobStatus, job: Job, scheduledAt: Instant): CronJobStatus {
  const { apiVersion, kind, metadata } = job;
  const { name = '', namespace = '', uid = '', resourceVersion = '' } = metadata;
  const reference = { apiVersion, kind, name, namespace, uid, resourceVersion };
  return withScheduled(withActive(status, [...(status.active ?? []), reference]), scheduledAt);
}

/** The status with the last scheduled time for which a Job was started. */
export function withScheduled(status: CronJobStatus, scheduledAt: Instant): CronJobStatus {
  return { ...status, lastScheduleTime: formatTime(scheduledAt) };
}

/** The status with the end of the last successful Job. */
export function withSuccess(status: CronJobStatus, job: Job): CronJobStatus {
  const { completionTime } = job.status ?? {};
  const { lastSuccessfulTime } = status;
  if (endOf(job) !== 'Complete' || completionTime === undefined) return status;
  if (lastSuccessfulTime !== undefined && Date.parse(completionTime) <= Date.parse(lastSuccessfulTime)) return status;
  return { ...status, lastSuccessfulTime: completionTime };
}
