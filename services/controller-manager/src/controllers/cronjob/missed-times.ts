import type { Instant } from '@gantry/base';
import { type CronSchedule, lastCronTime, nextCronTime, parseCronSchedule } from '@gantry/kinds';
import type { CronJob } from '@gantry/objects';

/** The scheduled times since the last Job for which no Job was started. */
export interface MissedTimes {
  /** The time from which scheduled times count. */
  readonly earliest: Instant;
  /** The latest missed time; undefined if there is none. */
  readonly recent: Instant | undefined;
  /** The number of missed times before the latest one. `many` means more than a hundred. */
  readonly count: 'none' | 'few' | 'many';
}

/** More missed times than this indicate a wrong clock. */
const MANY = 100;
/** The controller reconciles this long after a scheduled time, so that its clock has passed it. */
const MARGIN_MS = 100;

/** The schedule of a CronJob in its time zone, or the error in it. */
export function scheduleOf({ spec }: CronJob): CronSchedule | { readonly fault: string } {
  return parseCronSchedule(spec.schedule, spec.timeZone);
}

/**
 * The times missed until `now`. Undefined for a schedule without times. With `deadline: 'applied'`, times before `startingDeadlineSeconds`
 * do not count. The number of times is estimated from the interval between the first two, as in Kubernetes.
 */
export function findMissedTimes(
  { metadata, spec, status }: CronJob,
  schedule: CronSchedule,
  now: Instant,
  deadline: 'applied' | 'ignored',
): MissedTimes | undefined {
  let earliest = Date.parse(status?.lastScheduleTime ?? metadata.creationTimestamp ?? '');
  if (deadline === 'applied' && spec.startingDeadlineSeconds !== undefined) {
    earliest = Math.max(earliest, now - spec.startingDeadlineSeconds * 1000);
  }
  const first = nextCronTime(schedule, earliest);
  if (first === undefined) return undefined;
  if (now < first) return { earliest, recent: undefined, count: 'none' };
  const second = nextCronTime(schedule, first);
  if (second === undefined) return undefined;
  if (now < second) return { earliest, recent: first, count: 'none' };
  const distance = second - first;
  const count = Math.floor((now - first) / distance) + 1;
  const recent = lastCronTime(schedule, first + (count - 2) * distance, now);
  return { earliest, recent, count: count > MANY ? 'many' : 'few' };
}

/** When to reconcile a CronJob for its next scheduled time, in Unix milliseconds; undefined if there is none. */
export function nextLook(cronJob: CronJob, schedule: CronSchedule, now: Instant): Instant | undefined {
  const missed = findMissedTimes(cronJob, schedule, now, 'ignored');
  const since = missed?.recent ?? (missed?.count === 'none' ? missed.earliest : now);
  const next = nextCronTime(schedule, since);
  return next === undefined ? undefined : next + MARGIN_MS;
}

/** Milliseconds until a CronJob is reconciled after a change of its schedule: past times do not count under the new schedule. */
export function waitAfterChange(cronJob: CronJob, now: Instant): number {
  const schedule = scheduleOf(cronJob);
  return 'fault' in schedule ? 0 : Math.max(0, (nextLook(cronJob, schedule, now) ?? now) - now);
}
