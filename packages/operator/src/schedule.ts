import type { Instant } from '@gantry/base';
import { type CronSchedule, lastCronTime, nextCronTime, parseCronSchedule } from '@gantry/kinds';

/** Thrown for a text that is no schedule, with the message that Kubernetes has for it in a CronJob. */
export class ScheduleError extends Error {
  override readonly name = 'ScheduleError';
}

/** Far more than a schedule needs. A message repeats the text, and must fit into a condition. */
const MAX_TEXT = 1000;

/** The times of a schedule, in milliseconds since 1970. */
export class Schedule {
  readonly #parsed: CronSchedule;

  /**
   * Parses a schedule as the controller of CronJobs does: five fields, `@daily` and the like, or `@every 90m`. `timeZone` is a name such as
   * `Europe/Berlin`; UTC when absent. Throws ScheduleError, also for a text of more than 1,000 characters.
   *
   * @example
   * ```ts
   * const schedule = new Schedule(object.spec.schedule, object.spec.timeZone);
   * const dueMs = schedule.last(lastRunMs, now); // undefined: no run is due
   * return { objects: [], requeueAt: schedule.next(now) };
   * ```
   */
  constructor(text: string, timeZone?: string) {
    for (const [what, { length }] of [['schedule', text] as const, ['time zone', timeZone ?? ''] as const])
      if (length > MAX_TEXT) throw new ScheduleError(`the ${what} has ${length} characters, more than ${MAX_TEXT}`);
    const parsed = parseCronSchedule(text, timeZone);
    if ('fault' in parsed) throw new ScheduleError(`${JSON.stringify(text)}: ${parsed.fault}`);
    this.#parsed = parsed;
  }

  /** The first time after `after`; undefined when there is none in the next five years, or before the year 10000. */
  next(after: Instant): Instant | undefined {
    return nextCronTime(this.#parsed, after);
  }

  /** The last time after `after` and not after `until`: the run that is due, whatever was missed before. Undefined when there is none. */
  last(after: Instant, until: Instant): Instant | undefined {
    return lastCronTime(this.#parsed, after, until);
  }
}
