import type { Instant } from '@gantry/base';
import { type CronSchedule, lastCronTime, nextCronTime, parseCronSchedule } from '@gantry/kinds';
import type { CronJob } from '@gantry/objects';

/** Times at which a CronJob should have started a Job since its last one. */
export interface MissedTimes {
  /** From when on times count. */
  readonly earliest: Instant;
  /** The latest of them; undefined when there is none. */
  readonly recent: Instant | undefined;
  /** Whether there are more than the latest one. `many` are more than a hundred. */
  readonly count: 'none' | 'few' | 'many';
}

/** Too many missed times hint at a wrong clock. */
const MANY = 100;
/** The controller looks again so long after a time, so that its clock has surely passed it. */
const MARGIN_MS = 100;

/** The schedule of a CronJob in its time zone, or what is wrong with it. */
export function scheduleOf({ spec }: CronJob): CronSchedule | { readonly fault: string } {
  return parseCronSchedule(spec.schedule, spec.timeZone);
}

/**
 * What was missed until `now`. Undefined for a schedule that has no times. With `deadline: 'applied'` times before
 * `startingDeadlineSeconds` do not count. The number of times is estimated from the distance of the first two, as in Kubernetes.
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

/** When a CronJob is to be looked at for its next time, in Unix milliseconds; undefined when there is none. */
export function nextLook(cronJob: CronJob, schedule: CronSchedule, now: Instant): Instant | undefined {
  const missed = findMissedTimes(cronJob, schedule, now, 'ignored');
  const since = missed?.recent ?? (missed?.count === 'none' ? missed.earliest : now);
  const next = nextCronTime(schedule, since);
  return next === undefined ? undefined : next + MARGIN_MS;
}

/** How long a CronJob waits after its schedule has changed, in milliseconds: times of the past do not count by the new one. */
export function waitAfterChange(cronJob: CronJob, now: Instant): number {
  const schedule = scheduleOf(cronJob);
  return 'fault' in schedule ? 0 : Math.max(0, (nextLook(cronJob, schedule, now) ?? now) - now);
}
