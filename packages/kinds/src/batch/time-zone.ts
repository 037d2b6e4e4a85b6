/** Time zones by name. Times are Unix milliseconds. */
import { intlTimeZone } from '@gantry/base';

export interface TimeZone {
  /** The local time at `at`, encoded as the Unix milliseconds of the same reading in UTC. */
  toLocal(at: number): number;
  /** The time of a local reading. For an ambiguous or skipped reading, the time that Go chooses. */
  fromLocal(local: number): number;
}

const UTC: TimeZone = { toLocal: (at) => at, fromLocal: (local) => local };

/** The error for an invalid time zone name, as Go's `time.LoadLocation` has it. */
export function timeZoneFault(zone: string): string | undefined {
  return intlTimeZone(zone) === undefined ? `unknown time zone ${zone}` : undefined;
}

/** The time zone of a valid name. */
export function timeZone(name: string): TimeZone {
  const zone = intlTimeZone(name);
  if (zone === 'UTC') return UTC;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const offset = (at: number): number => {
    const parts: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(at)) parts[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000;
  };
  return {
    toLocal: (at) => at + offset(at),
    fromLocal: (local) => {
      const near = offset(local);
      return near === 0 ? local : local - offset(local - near);
    },
  };
}

/** RFC 3339 with seconds, and the offset of the zone at that time. */
export function formatZonedTime(at: number, zone: TimeZone): string {
  const local = zone.toLocal(at);
  const text = new Date(local).toISOString().slice(0, 19);
  const minutes = Math.round((local - at) / 60_000);
  if (minutes === 0) return `${text}Z`;
  const two = (value: number) => String(value).padStart(2, '0');
  const size = Math.abs(minutes);
  return `${text}${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}
