import type { Instant } from '@gantry/base';
import { formatZonedTime, timeZone } from '@gantry/kinds';
import { cloneJson, type CronJob, type Job } from '@gantry/objects';
import { controllerReference } from '../ownership.ts';

/** The time for which a Job was started, in the time zone of its CronJob. */
const SCHEDULED_TIMESTAMP = 'batch.kubernetes.io/cronjob-scheduled-timestamp';

/** The name of the Job for a time of the schedule: each time has one, so that no time starts two Jobs. */
export function jobName({ metadata }: CronJob, scheduledAt: Instant): string {
  return `${metadata.name ?? ''}-${Math.floor(scheduledAt / 60_000)}`;
}

export function newCronJobJob(cronJob: CronJob, scheduledAt: Instant): Job {
  const { metadata = {}, spec } = cloneJson(cronJob.spec.jobTemplate);
  const time = formatZonedTime(scheduledAt, timeZone(cronJob.spec.timeZone ?? ''));
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: jobName(cronJob, scheduledAt),
      namespace: cronJob.metadata.namespace ?? '',
      ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
      annotations: { ...metadata.annotations, [SCHEDULED_TIMESTAMP]: time },
      ownerReferences: [controllerReference(cronJob)],
    },
    ...(spec === undefined ? {} : { spec }),
  };
}
