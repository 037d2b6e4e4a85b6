/** Cron schedules: five fields, or a name such as `@daily`. `cron-times.ts` computes their times. */
import { parseGoDurationMs } from '@gantry/base';
import { type TimeZone, timeZone, timeZoneFault } from './time-zone.ts';

/** A recurring schedule. */
export type CronSchedule =
  /** A fixed delay in milliseconds after the previous time; whole seconds. */
  | { readonly kind: 'every'; readonly delayMs: number }
  | { readonly kind: 'fields'; readonly fields: CronFields; readonly zone: TimeZone };

/** The matching values per field. Months and days start at 1; weekday 0 is Sunday. */
export interface CronFields {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** Whether a day must match both day fields. If both are restricted, one match is enough. */
  readonly needsBothDays: boolean;
}

interface Fault {
  readonly fault: string;
}

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const FIELDS: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  {
    min: 1,
    max: 12,
    names: ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  },
  { min: 0, max: 6, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
];
const DESCRIPTORS: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
]);
const EVERY = '@every ';
const ZONE_PREFIX = /^(?:TZ|CRON_TZ)=/;

/** The error of an invalid schedule, worded like the parser that Kubernetes uses; undefined if it is valid. */
export function scheduleFault(schedule: string): string | undefined {
  const parsed = parseCronSchedule(schedule, undefined);
  return 'fault' in parsed ? parsed.fault : undefined;
}

/**
 * Parses a schedule. `zone` is the name of its time zone, UTC when absent; a zone inside the schedule (`TZ=Europe/Berlin 0 0 * * *`)
 * overrides it.
 */
export function parseCronSchedule(schedule: string, zone: string | undefined): CronSchedule | Fault {
  let text = schedule;
  let name = zone ?? '';
  if (ZONE_PREFIX.test(text)) {
    const space = text.indexOf(' ');
    if (space < 0) return { fault: `schedule has no fields after its time zone: ${text}` };
    name = text.slice(text.indexOf('=') + 1, space);
    text = text.slice(space).trim();
  }
  const fault = timeZoneFault(name);
  if (fault !== undefined) return { fault: `provided bad location ${name}: ${fault}` };
  if (text === '') return { fault: 'empty spec string' };
  if (text.startsWith(EVERY)) return parseEvery(text);
  const named = DESCRIPTORS.get(text);
  if (named === undefined && text.startsWith('@')) return { fault: `unrecognized descriptor: ${text}` };
  const fields = parseFields(named ?? text);
  return 'fault' in fields ? fields : { kind: 'fields', fields, zone: timeZone(name) };
}

function parseEvery(text: string): CronSchedule | Fault {
  const duration = text.slice(EVERY.length);
  const fault = `failed to parse duration ${text}: time: invalid duration ${JSON.stringify(duration)}`;
  const delayMs = parseGoDurationMs(duration);
  if (delayMs === undefined) return { fault };
  return { kind: 'every', delayMs: Math.max(1, Math.floor(delayMs / 1000)) * 1000 };
}

function parseFields(text: string): CronFields | Fault {
  const fields = text.split(/\s+/).filter((field) => field !== '');
  if (fields.length !== FIELDS.length) {
    return { fault: `expected exactly ${FIELDS.length} fields, found ${fields.length}: [${fields.join(' ')}]` };
  }
  const values: ReadonlySet<number>[] = [];
  const isAny: boolean[] = [];
  for (const [i, bounds] of FIELDS.entries()) {
    const set = new Set<number>();
    let any = false;
    for (const part of (fields[i] ?? '').split(',').filter((one) => one !== '')) {
      const range = parseRange(part, bounds);
      if (typeof range === 'string') return { fault: range };
      for (let value = range.first; value <= range.last; value += range.step) set.add(value);
      any ||= /^[*?]/.test(part) && range.step === 1;
    }
    values.push(set);
    isAny.push(any);
  }
  const of = (i: number) => values[i] ?? new Set<number>();
  const needsBothDays = isAny[2] === true || isAny[4] === true;
  return { minutes: of(0), hours: of(1), days: of(2), months: of(3), weekdays: of(4), needsBothDays };
}

interface Range {
  readonly first: number;
  readonly last: number;
  readonly step: number;
}

/** A string result is the error. */
function parseRange(text: string, bounds: Bounds): Range | string {
  const [range = '', step, ...slashes] = text.split('/');
  const [low = '', high, ...hyphens] = range.split('-');
  let first = bounds.min;
  let last = bounds.max;
  if (low !== '*' && low !== '?') {
    const start = parse(low, bounds.names);
    if (typeof start === 'string') return start;
    first = start;
    last = start;
    if (hyphens.length > 0) return `too many hyphens: ${text}`;
    const end = high === undefined ? start : parse(high, bounds.names);
    if (typeof end === 'string') return end;
    last = end;
  }
  if (slashes.length > 0) return `too many slashes: ${text}`;
  const by = step === undefined ? 1 : parse(step, undefined);
  if (typeof by === 'string') return by;
  if (step !== undefined && high === undefined) last = bounds.max;
  if (first < bounds.min) return `beginning of range (${first}) below minimum (${bounds.min}): ${text}`;
  if (last > bounds.max) return `end of range (${last}) above maximum (${bounds.max}): ${text}`;
  if (first > last) return `beginning of range (${first}) beyond end of range (${last}): ${text}`;
  return by === 0 ? `step of range should be a positive number: ${text}` : { first, last, step: by };
}

/** Parses a number or a name; a string result is the error. */
function parse(text: string, names: readonly string[] | undefined): number | string {
  const named = text === '' ? -1 : (names ?? []).indexOf(text.toLowerCase());
  if (named >= 0) return named;
  if (!/^[+-]?\d+$/.test(text)) {
    return `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
  }
  const value = Number(text);
  if (!Number.isSafeInteger(value)) {
    return `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: value out of range`;
  }
  return value < 0 ? `negative number (${value}) not allowed: ${text}` : value;
}
