import { describe, expect, it } from 'vitest';
import { formatAge, formatDuration } from './columns.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('durations in tables', () => {
  it.each([
    [-2 * SECOND, '<invalid>'],
    [-1 * SECOND, '0s'],
    [0, '0s'],
    [119 * SECOND, '119s'],
    [120 * SECOND, '2m'],
    [9 * MINUTE + 59 * SECOND, '9m59s'],
    [10 * MINUTE + 59 * SECOND, '10m'],
    [179 * MINUTE, '179m'],
    [3 * HOUR, '3h'],
    [7 * HOUR + 30 * MINUTE, '7h30m'],
    [47 * HOUR + 59 * MINUTE, '47h'],
    [2 * DAY, '2d'],
    [7 * DAY + 23 * HOUR, '7d23h'],
    [8 * DAY + 23 * HOUR, '8d'],
    [729 * DAY, '729d'],
    [730 * DAY, '2y'],
    [731 * DAY, '2y1d'],
    [8 * 365 * DAY, '8y'],
  ])('%d ms are %s', (durationMs, text) => {
    expect(formatDuration(durationMs)).toBe(text);
  });

  it('say when there is no time to measure from', () => {
    expect(formatAge(undefined, 0)).toBe('<unknown>');
    expect(formatAge('1970-01-01T00:00:00Z', 5 * SECOND)).toBe('5s');
  });
});
