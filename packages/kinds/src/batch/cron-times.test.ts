import { describe, expect, it } from 'vitest';
import { type CronSchedule, parseCronSchedule } from './cron-schedule.ts';
import { lastCronTime, nextCronTime } from './cron-times.ts';
import { formatZonedTime, timeZone } from './time-zone.ts';

function parse(text: string, zone?: string): CronSchedule {
  const schedule = parseCronSchedule(text, zone);
  if ('fault' in schedule) throw new TypeError(schedule.fault);
  return schedule;
}

const format = (at: number | undefined, zone = '') =>
  at === undefined ? undefined : formatZonedTime(at, timeZone(zone));

describe('the next time of a schedule', () => {
  it.each([
    ['*/15 * * * *', '2012-07-09T14:45:00Z', '2012-07-09T15:00:00Z'],
    ['*/15 * * * *', '2012-07-09T14:59:59.900Z', '2012-07-09T15:00:00Z'],
    ['* * * * *', '2012-07-09T14:59:59.900Z', '2012-07-09T15:00:00Z'],
    ['* * * * *', '2012-07-09T15:00:00Z', '2012-07-09T15:01:00Z'],
    ['20-35/15 * * * *', '2012-07-09T15:45:00Z', '2012-07-09T16:20:00Z'],
    ['20-35/15 * * * *', '2012-07-09T23:45:00Z', '2012-07-10T00:20:00Z'],
    ['20-35/15 1/2 */2 * *', '2012-07-09T23:35:51Z', '2012-07-11T01:20:00Z'],
    ['20-35/15 10-12 * * *', '2012-07-09T23:35:51Z', '2012-07-10T10:20:00Z'],
    ['20-35/15 * 9-20 Jul *', '2012-07-09T23:35:51Z', '2012-07-10T00:20:00Z'],
    ['0 0 9 Apr-Oct ?', '2012-07-09T23:35:00Z', '2012-08-09T00:00:00Z'],
    ['0 0 */5 Apr,Aug,Oct Mon', '2012-07-09T23:35:00Z', '2012-08-01T00:00:00Z'],
    ['0 0 */5 Oct Mon', '2012-07-09T23:35:00Z', '2012-10-01T00:00:00Z'],
    ['0 0 * Feb Mon', '2012-07-09T23:35:00Z', '2013-02-04T00:00:00Z'],
    ['0 0 * Feb Mon/2', '2012-07-09T23:35:00Z', '2013-02-01T00:00:00Z'],
    ['* * * * *', '2012-12-31T23:59:45Z', '2013-01-01T00:00:00Z'],
    ['0 0 29 Feb ?', '2012-07-09T23:35:00Z', '2016-02-29T00:00:00Z'],
    ['0 0 13 * 5', '2012-07-09T23:35:00Z', '2012-07-13T00:00:00Z'],
    ['0 0 14 * 5', '2012-07-13T00:00:00Z', '2012-07-14T00:00:00Z'],
    ['@hourly', '2012-07-09T23:35:00Z', '2012-07-10T00:00:00Z'],
    ['@daily', '2012-07-09T23:35:00Z', '2012-07-10T00:00:00Z'],
    ['@weekly', '2012-07-09T23:35:00Z', '2012-07-15T00:00:00Z'],
    ['@monthly', '2012-07-09T23:35:00Z', '2012-08-01T00:00:00Z'],
    ['@yearly', '2012-07-09T23:35:00Z', '2013-01-01T00:00:00Z'],
    ['@every 1h30m', '2012-07-09T23:35:10.700Z', '2012-07-10T01:05:10Z'],
    ['@every 1.9s', '2012-07-09T23:35:10Z', '2012-07-09T23:35:11Z'],
    ['@every -5m', '2012-07-09T23:35:10Z', '2012-07-09T23:35:11Z'],
  ])('%s after %s is %s', (schedule, after, expected) => {
    expect(format(nextCronTime(parse(schedule), Date.parse(after)))).toBe(expected);
  });

  it.each(['0 0 30 Feb ?', '0 0 31 Apr ?', '59 23 31 2 *'])('%s is never', (schedule) => {
    expect(nextCronTime(parse(schedule), Date.parse('2012-07-09T23:35:00Z'))).toBeUndefined();
  });

  // The parser accepts fields without a value, as Kubernetes' does. A search through them would take half a minute.
  it.each([', * * * *', '* , * * *', '* * , * *', '* * * , *', '* * , * ,', '* * * * ,'])(
    '%s is never, found without a search',
    (schedule) => {
      let looks = 0;
      const parsed = parse(schedule);
      if (parsed.kind !== 'fields') throw new TypeError('no fields');
      const { toLocal, fromLocal } = parsed.zone;
      const counted = {
        toLocal: (at: number) => {
          looks++;
          return toLocal(at);
        },
        fromLocal,
      };
      expect(nextCronTime({ ...parsed, zone: counted }, Date.parse('2012-07-09T23:35:00Z'))).toBeUndefined();
      expect(looks).toBe(0);
    },
  );

  // Clocks go from 2:00 to 3:00 on 2012-03-11, and from 2:00 to 1:00 on 2012-11-04.
  it.each([
    ['30 2 11 Mar ?', '2012-03-11T00:00:00-05:00', '2013-03-11T02:30:00-04:00'],
    ['0 * * * ?', '2012-03-11T01:00:00-05:00', '2012-03-11T03:00:00-04:00'],
    ['0 * * * ?', '2012-03-11T03:00:00-04:00', '2012-03-11T04:00:00-04:00'],
    ['0 1 * * ?', '2012-03-11T01:00:00-05:00', '2012-03-12T01:00:00-04:00'],
    ['0 2 * * ?', '2012-03-11T00:00:00-05:00', '2012-03-12T02:00:00-04:00'],
    ['30 2 04 Nov ?', '2012-11-04T00:00:00-04:00', '2012-11-04T02:30:00-05:00'],
    ['30 1 04 Nov ?', '2012-11-04T01:45:00-04:00', '2012-11-04T01:30:00-05:00'],
    ['0 * * * ?', '2012-11-04T00:00:00-04:00', '2012-11-04T01:00:00-04:00'],
    ['0 * * * ?', '2012-11-04T01:00:00-04:00', '2012-11-04T01:00:00-05:00'],
    ['0 * * * ?', '2012-11-04T01:00:00-05:00', '2012-11-04T02:00:00-05:00'],
    ['0 1 * * ?', '2012-11-04T01:00:00-04:00', '2012-11-04T01:00:00-05:00'],
    ['0 1 * * ?', '2012-11-04T01:00:00-05:00', '2012-11-05T01:00:00-05:00'],
    ['0 2 * * ?', '2012-11-04T00:00:00-04:00', '2012-11-04T02:00:00-05:00'],
    ['0 3 3 * ?', '2012-11-04T00:00:00-04:00', '2012-12-03T03:00:00-05:00'],
  ])('in New York, %s after %s is %s', (schedule, after, expected) => {
    const next = nextCronTime(parse(schedule, 'America/New_York'), Date.parse(after));
    expect(format(next, 'America/New_York')).toBe(expected);
    expect(nextCronTime(parse(`TZ=America/New_York ${schedule}`, 'Asia/Tokyo'), Date.parse(after))).toBe(next);
  });

  // In São Paulo clocks went from 0:00 to 1:00 on 2018-11-04, and from 0:00 to 23:00 on 2018-02-18.
  it.each([
    ['0 9 10 * ?', '2018-10-17T05:00:00-04:00', '2018-11-10T06:00:00-05:00'],
    ['0 9 22 * ?', '2018-02-14T05:00:00-05:00', '2018-02-22T07:00:00-05:00'],
  ])('where midnight is skipped, %s after %s is %s', (schedule, after, expected) => {
    expect(nextCronTime(parse(schedule, 'America/Sao_Paulo'), Date.parse(after))).toBe(Date.parse(expected));
  });

  it.each([
    ['30 12 * * *', 'Asia/Kolkata', '2026-01-01T12:30:00+05:30'],
    ['0 0 * * *', 'Europe/London', '2026-01-02T00:00:00Z'],
    ['0 0 1 7 *', 'Europe/London', '2026-07-01T00:00:00+01:00'],
  ])('%s in %s is %s', (schedule, zone, expected) => {
    expect(format(nextCronTime(parse(schedule, zone), Date.parse('2026-01-01T00:00:00Z')), zone)).toBe(expected);
  });
});

describe('times that no calendar has', () => {
  const ZONES = ['', 'America/New_York'];
  it.each(['0 0 * 1 *', '0 0 30 2 *', '@every 2562047h'])('end the search of %s', (text) => {
    for (const zone of ZONES) {
      const schedule = parse(text, zone);
      for (const after of [
        Number.NaN,
        Number.POSITIVE_INFINITY,
        8.64e15,
        8.64e15 - 1e9,
        Date.parse('9999-12-31T23:59:59Z'),
      ])
        expect(nextCronTime(schedule, after)).toBeUndefined();
      expect(lastCronTime(schedule, 0, Number.NaN)).toBeUndefined();
    }
  });

  it('are those of RFC 3339 at most', () => {
    for (const zone of ZONES) {
      const yearly = parse('0 12 1 1 *', zone);
      const last = Date.parse(zone === '' ? '9999-01-01T12:00:00Z' : '9999-01-01T17:00:00Z');
      expect(lastCronTime(yearly, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)).toBe(last);
      expect(lastCronTime(parse('@every 1s', zone), 0, 1e300)).toBe(Date.parse('9999-12-31T23:59:59Z'));
    }
  });
});

describe('the last time of a schedule', () => {
  it.each([
    ['* * * * *', '2026-01-01T00:00:00Z', '2026-01-01T00:00:59Z', undefined],
    ['* * * * *', '2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z', '2026-01-01T00:01:00Z'],
    ['* * * * *', '2020-01-01T00:00:00Z', '2026-01-01T00:01:59Z', '2026-01-01T00:01:00Z'],
    ['30 6-16/4 * * 1-5', '2026-01-01T00:00:00Z', '2026-01-04T12:00:00Z', '2026-01-02T14:30:00Z'],
    ['* * * 2-11 *', '2020-01-01T00:00:00Z', '2026-01-01T00:00:00Z', '2025-11-30T23:59:00Z'],
    ['@every 7m', '2026-01-01T00:00:30.500Z', '2026-01-01T00:30:00Z', '2026-01-01T00:28:30Z'],
    ['@every 7m', '2026-01-01T00:00:00Z', '2026-01-01T00:06:59Z', undefined],
  ])('%s between %s and %s is %s', (schedule, after, until, expected) => {
    expect(format(lastCronTime(parse(schedule), Date.parse(after), Date.parse(until)))).toBe(expected);
  });

  it('is what stepping from one time to the next finds', () => {
    const until = Date.parse('2026-03-29T12:34:56Z');
    for (const text of ['*/7 1-4 * * *', '5 0 13 * 5', '0 3 * * 0', '59 23 * * *']) {
      const schedule = parse(text, 'Europe/Berlin');
      for (let hours = 0; hours < 200; hours += 13) {
        const after = until - hours * 3_600_000;
        let expected: number | undefined;
        for (
          let next = nextCronTime(schedule, after) ?? Infinity;
          next <= until;
          next = nextCronTime(schedule, next) ?? Infinity
        ) {
          expected = next;
        }
        expect(lastCronTime(schedule, after, until)).toBe(expected);
      }
    }
  });
});
