import type { CronFields, CronSchedule } from './cron-schedule.ts';
import type { TimeZone } from './time-zone.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** The number of years that are searched, as in the library that Kubernetes uses. */
const MAX_YEARS = 5;
/** The first and the last time of RFC 3339. Near the end of JavaScript's dates a search would not end. */
const FIRST_MS = Date.parse('0001-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59Z');

/**
 * The first time of a schedule after `after`, in Unix milliseconds; undefined if there is none within five years, or when `after` is NaN
 * or later than the year 9999. As in robfig/cron v3,
 * which Kubernetes uses: a local time that is skipped by a clock change is left out, and one that occurs twice counts twice.
 */
export function nextCronTime(schedule: CronSchedule, after: number): number | undefined {
  const from = Math.max(after, FIRST_MS);
  if (Number.isNaN(from) || from >= LAST_MS) return undefined;
  const second = Math.floor(from / SECOND_MS) * SECOND_MS;
  if (schedule.kind === 'every') return second + schedule.delayMs;
  if (isNever(schedule.fields)) return undefined;
  return new Search(schedule.fields, schedule.zone, second + SECOND_MS).run();
}

/** The last time of a schedule after `after` and not after `until`; undefined when there is none. */
export function lastCronTime(schedule: CronSchedule, after: number, until: number): number | undefined {
  const end = Math.min(until, LAST_MS);
  let found = nextCronTime(schedule, after);
  if (found === undefined || Number.isNaN(end) || found > end) return undefined;
  if (schedule.kind === 'every') return found + Math.floor((end - found) / schedule.delayMs) * schedule.delayMs;
  // The last time is the first time after some moment; a binary search finds that moment.
  let low = found;
  let high = end;
  while (high - low >= SECOND_MS) {
    const middle = low + Math.floor((high - low) / 2 / SECOND_MS) * SECOND_MS;
    const next = nextCronTime(schedule, middle);
    if (next !== undefined && next <= end) {
      found = next;
      low = next;
    } else high = middle === low ? low : middle;
  }
  return found;
}

/** Whether a field has no value, such as `,`. A search would check every minute of five years. */
function isNever({ minutes, hours, days, months, weekdays, needsBothDays }: CronFields): boolean {
  if ([minutes, hours, months].some(({ size }) => size === 0)) return true;
  return needsBothDays ? days.size === 0 || weekdays.size === 0 : days.size + weekdays.size === 0;
}

/** One search, from the largest field to the smallest. It restarts whenever a field wraps around. */
class Search {
  readonly #fields: CronFields;
  readonly #zone: TimeZone;
  #at: number;
  /** Whether the time has been moved. Before that, its smaller parts are those of the start. */
  #state: 'start' | 'moved' = 'start';

  constructor(fields: CronFields, zone: TimeZone, start: number) {
    this.#fields = fields;
    this.#zone = zone;
    this.#at = start;
  }

  run(): number | undefined {
    const lastYear = this.#local().getUTCFullYear() + MAX_YEARS;
    while (this.#local().getUTCFullYear() <= lastYear) {
      if (this.#findMonth() && this.#findDay() && this.#findHour() && this.#findMinute()) return this.#at;
    }
    return undefined;
  }

  /** Returns false when the next larger field changed; so do the following methods. */
  #findMonth(): boolean {
    while (!this.#fields.months.has(this.#local().getUTCMonth() + 1)) {
      this.#begin((local) => Date.UTC(local.getUTCFullYear(), local.getUTCMonth(), 1));
      this.#setLocal((local) => local.setUTCMonth(local.getUTCMonth() + 1));
      if (this.#local().getUTCMonth() === 0) return false;
    }
    return true;
  }

  #findDay(): boolean {
    while (!this.#isDay(this.#local())) {
      this.#begin((local) => local.setUTCHours(0, 0, 0, 0));
      this.#setLocal((local) => local.setUTCDate(local.getUTCDate() + 1));
      // If midnight is skipped, the day starts an hour off.
      const hour = this.#local().getUTCHours();
      if (hour !== 0) this.#at += (hour > 12 ? 24 - hour : -hour) * HOUR_MS;
      if (this.#local().getUTCDate() === 1) return false;
    }
    return true;
  }

  #findHour(): boolean {
    while (!this.#fields.hours.has(this.#local().getUTCHours())) {
      this.#begin((local) => local.setUTCMinutes(0, 0, 0));
      this.#at += HOUR_MS;
      if (this.#local().getUTCHours() === 0) return false;
    }
    return true;
  }

  #findMinute(): boolean {
    while (!this.#fields.minutes.has(this.#local().getUTCMinutes())) {
      this.#state = 'moved';
      this.#at = Math.floor(this.#at / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
      if (this.#local().getUTCMinutes() === 0) return false;
    }
    if (this.#at % MINUTE_MS === 0) return true;
    this.#state = 'moved';
    this.#at = Math.ceil(this.#at / MINUTE_MS) * MINUTE_MS;
    return false;
  }

  #isDay(local: Date): boolean {
    const { days, weekdays, needsBothDays } = this.#fields;
    const isDay = days.has(local.getUTCDate());
    const isWeekday = weekdays.has(local.getUTCDay());
    return needsBothDays ? isDay && isWeekday : isDay || isWeekday;
  }

  /** The local time, readable as UTC. */
  #local(): Date {
    return new Date(this.#zone.toLocal(this.#at));
  }

  #setLocal(change: (local: Date) => number): void {
    this.#at = this.#zone.fromLocal(change(this.#local()));
  }

  /** Moves to the start of a field, once. */
  #begin(change: (local: Date) => number): void {
    if (this.#state === 'moved') return;
    this.#state = 'moved';
    this.#setLocal(change);
  }
}
