import type { CronJob, Job } from '@gantry/objects';
import { endOf } from './cron-status.ts';

/** Ended Jobs beyond the limits of the history, the oldest first. Jobs that are being deleted count as kept until they are gone. */
export function surplusJobs({ spec }: CronJob, jobs: readonly Job[]): readonly Job[] {
  const { successfulJobsHistoryLimit, failedJobsHistoryLimit } = spec;
  return [
    ...beyond(
      jobs.filter((job) => endOf(job) === 'Complete'),
      successfulJobsHistoryLimit,
    ),
    ...beyond(
      jobs.filter((job) => endOf(job) === 'Failed'),
      failedJobsHistoryLimit,
    ),
  ].filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

function beyond(jobs: readonly Job[], limit = Infinity): readonly Job[] {
  return [...jobs].sort(byStart).slice(0, Math.max(0, jobs.length - limit));
}

/** By the time when they started, then by name; one that never started comes last. */
function byStart(a: Job, b: Job): number {
  const start = ({ status }: Job) => (status?.startTime === undefined ? Infinity : Date.parse(status.startTime));
  if (start(a) !== start(b)) return start(a) < start(b) ? -1 : 1;
  return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1;
}
