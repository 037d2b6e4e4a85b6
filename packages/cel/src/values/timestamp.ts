import { intlTimeZone, parseGoDuration } from '@gantry/base';
import { CelDuration, CelTimestamp } from './value.ts';

const BILLION = 1_000_000_000n;

/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999999999Z. */
const FIRST = -62_135_596_800n * BILLION;
const LAST = 253_402_300_800n * BILLION - 1n;

/** Whether the nanoseconds since 1970 are within the range of timestamps. */
export function isTimestamp(nanoseconds: bigint): boolean {
  return nanoseconds >= FIRST && nanoseconds <= LAST;
}

const RFC3339 = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:[.,](\d+))?(?:Z|([+-])(\d{2}):(\d{2}))$/;

/** Parses an RFC 3339 time to nanoseconds since 1970; undefined when invalid. */
export function parseRfc3339(text: string): bigint | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const isDate = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  const [offsetHours, offsetMinutes] = [Number(match[9] ?? 0), Number(match[10] ?? 0)];
  if (!isDate || hour > 23 || minute > 59 || second > 59 || offsetHours > 24 || offsetMinutes > 59) return undefined;
  const offset = (offsetHours * 3600 + offsetMinutes * 60) * (match[8] === '-' ? -1 : 1);
  const seconds = BigInt(date.getTime() / 1000 + hour * 3600 + minute * 60 + second - offset);
  return seconds * BILLION + BigInt((match[7] ?? '').slice(0, 9).padEnd(9, '0'));
}

/** Formats as RFC 3339 in UTC, with as few fractional digits as possible. */
export function formatRfc3339(nanoseconds: bigint): string {
  const seconds = floorDiv(nanoseconds, BILLION);
  const fraction = (nanoseconds - seconds * BILLION).toString().padStart(9, '0').replace(/0+$/, '');
  const date = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  return `${date}${fraction === '' ? '' : `.${fraction}`}Z`;
}

export function floorDiv(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return value % divisor < 0n ? quotient - 1n : quotient;
}

/** Calendar fields of a timestamp in a time zone. */
export interface CalendarFields {
  readonly year: number;
  /** From 0. */
  readonly month: number;
  /** From 1. */
  readonly day: number;
  /** From 0. */
  readonly dayOfYear: number;
  /** Sunday is 0. */
  readonly dayOfWeek: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly millisecond: number;
}

/** Go's message about an unknown time zone. */
export interface BadTimeZone {
  readonly message: string;
}

/** The fields of a timestamp in a zone: a name (`Europe/Berlin`), an offset (`-08:00`), or '' for UTC. */
export function calendarFields(nanoseconds: bigint, zone: string): CalendarFields | BadTimeZone {
  const offset = zoneOffsetSeconds(nanoseconds, zone);
  if (typeof offset !== 'number') return offset;
  const date = new Date(Number(floorDiv(nanoseconds, 1_000_000n)) + offset * 1000);
  const firstDay = new Date(date);
  firstDay.setUTCMonth(0, 1);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth(),
    day: date.getUTCDate(),
    dayOfYear: Math.round((date.getTime() - firstDay.getTime()) / 86_400_000),
    dayOfWeek: date.getUTCDay(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    millisecond: date.getUTCMilliseconds(),
  };
}

function zoneOffsetSeconds(nanoseconds: bigint, zone: string): number | BadTimeZone {
  if (zone === '' || zone === 'UTC') return 0;
  const colon = zone.indexOf(':');
  if (colon >= 0) {
    const [hours, minutes] = [zone.slice(0, colon), zone.slice(colon + 1)];
    for (const part of [hours, minutes]) {
      if (!/^[+-]?\d+$/.test(part)) return { message: `strconv.Atoi: parsing "${part}": invalid syntax` };
    }
    const sign = zone.startsWith('-') ? -1 : 1;
    return (Number(hours) * 60 + sign * Number(minutes)) * 60;
  }
  const timeZone = intlTimeZone(zone);
  if (timeZone === undefined) return { message: `unknown time zone ${zone}` };
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
  const parts = format.formatToParts(new Date(Number(floorDiv(nanoseconds, 1_000_000n))));
  const name = parts.find((part) => part.type === 'timeZoneName')?.value ?? 'GMT';
  const match = /^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(name);
  const seconds = Number(match?.[2] ?? 0) * 3600 + Number(match?.[3] ?? 0) * 60 + Number(match?.[4] ?? 0);
  return match?.[1] === '-' ? -seconds : seconds;
}

/** Durations that schemas of format `duration` allow in addition to Go's: `3 days`, `1w`. */
const UNITS: Readonly<Record<string, bigint>> = { d: 86_400n, w: 604_800n, h: 3_600n, m: 60n, s: 1n };

/** Parses a duration of a schema's format `duration`; undefined when invalid. */
export function parseDurationText(text: string): CelDuration | undefined {
  const parsed = parseGoDuration(text);
  if (parsed !== undefined) return new CelDuration(parsed);
  const match = /^0*(\d{1,20})\s*(d|days?|w|weeks?|hours?|minutes?|seconds?)$/i.exec(text.trim());
  const unit = UNITS[(match?.[2] ?? '').slice(0, 1).toLowerCase()];
  return match === null || unit === undefined
    ? undefined
    : new CelDuration(BigInt(match[1] ?? 0) * unit * 1_000_000_000n);
}

/** Parses a timestamp of a schema's format `date-time`; undefined when invalid. */
export function parseTimestampText(text: string): CelTimestamp | undefined {
  const parsed = parseRfc3339(text.toUpperCase());
  return parsed === undefined || !isTimestamp(parsed) ? undefined : new CelTimestamp(parsed);
}
