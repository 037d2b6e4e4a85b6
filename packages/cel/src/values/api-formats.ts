import { parseGoDuration } from '@gantry/base';
import { isTimestamp, parseRfc3339 } from './timestamp.ts';
import { CelDuration, CelTimestamp } from './value.ts';

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
