import type { WatchSpec } from '@gantry/controller-runtime';
import { hasEnded, type Job, type JobCondition, JOBS, type JobStatus, type Pod, PODS } from '@gantry/objects';
import type { JobMeter } from '../../metrics/workloads.ts';
import { countIndexes, parseIntervals } from './intervals.ts';
import { hasFinalizer, isIndexed, isManagedElsewhere, limitsEachIndex } from './job-rules.ts';

/** Watches that queue nothing. They count what Kubernetes counts in its event handlers, also for objects that exist when a term begins. */
export function progressWatches(meter: JobMeter): readonly [WatchSpec<Job>, WatchSpec<Pod>] {
  const isTracked = (pod: Pod | undefined) => pod !== undefined && hasEnded(pod) && hasFinalizer(pod);
  return [
    {
      resource: JOBS,
      keys: (job, old) => {
        const { managedBy } = job?.spec ?? {};
        if (job !== undefined && old === undefined && managedBy !== undefined && isManagedElsewhere(job))
          meter.managedElsewhere(managedBy);
        return [];
      },
    },
    {
      resource: PODS,
      keys: (pod, old) => {
        if (isTracked(pod) !== isTracked(old)) meter.tracked(isTracked(pod) ? 'add' : 'delete');
        return [];
      },
    },
  ];
}

export function modeOf({ spec }: Job): 'Indexed' | 'NonIndexed' {
  return spec?.completionMode === 'Indexed' ? 'Indexed' : 'NonIndexed';
}

/** Reports the progress from the old to the stored status. */
export function noteProgress(meter: JobMeter, { status: before }: Job, job: Job): void {
  const mode = modeOf(job);
  const grown = (result: 'succeeded' | 'failed') => (job.status?.[result] ?? 0) - (before?.[result] ?? 0);
  if (isIndexed(job)) noteIndexes(meter, before, job);
  else if (grown('succeeded') > 0) meter.podsFinished(mode, 'succeeded', grown('succeeded'));
  if (grown('failed') > 0) meter.podsFinished(mode, 'failed', grown('failed'));
  for (const [type, result] of [
    ['Complete', 'succeeded'],
    ['Failed', 'failed'],
  ] as const) {
    const isTrue = (conditions: readonly JobCondition[] = []) =>
      conditions.find((one) => one.type === type && one.status === 'True');
    const ended = isTrue(job.status?.conditions);
    if (ended !== undefined && isTrue(before?.conditions) === undefined)
      meter.finished(mode, result, ended.reason ?? '');
  }
}

/** Counts indexes below the Job's completions: if these were lowered, indexes of the old status may be out of range. */
function noteIndexes(meter: JobMeter, before: JobStatus | undefined, job: Job): void {
  const count = (indexes = '') => countIndexes(parseIntervals(indexes, job.spec?.completions ?? 0));
  const limit = limitsEachIndex(job) ? 'perIndex' : 'global';
  const succeeded = count(job.status?.completedIndexes) - count(before?.completedIndexes);
  const failed = limitsEachIndex(job) ? count(job.status?.failedIndexes) - count(before?.failedIndexes) : 0;
  if (succeeded > 0) {
    meter.indexesFinished('succeeded', limit, succeeded);
    meter.podsFinished('Indexed', 'succeeded', succeeded);
  }
  if (failed > 0) meter.indexesFinished('failed', limit, failed);
}
