import { describe, expect, it } from 'vitest';
import { Schedule, ScheduleError } from './schedule.ts';

const at = (text: string): number => Date.parse(text);

describe('a schedule', () => {
  it('has the times of a CronJob, in its time zone', () => {
    const nightly = new Schedule('30 3 * * *', 'Europe/Berlin');
    expect(nightly.next(at('2026-01-10T12:00:00Z'))).toBe(at('2026-01-11T02:30:00Z'));
    expect(new Schedule('@every 90m').next(at('2026-01-10T12:00:00Z'))).toBe(at('2026-01-10T13:30:00Z'));
  });

  it('says which run is due after some were missed', () => {
    const hourly = new Schedule('@hourly');
    expect(hourly.last(at('2026-01-10T08:10:00Z'), at('2026-01-10T12:10:00Z'))).toBe(at('2026-01-10T12:00:00Z'));
    expect(hourly.last(at('2026-01-10T12:00:00Z'), at('2026-01-10T12:10:00Z'))).toBeUndefined();
  });

  it('has no time on the 30th of February', () => {
    const never = new Schedule('0 0 30 2 *', 'Europe/Berlin');
    expect(never.next(at('2026-01-10T12:00:00Z'))).toBeUndefined();
    expect(never.last(0, at('2026-01-10T12:00:00Z'))).toBeUndefined();
  });

  it.each([
    ['0 '.repeat(1_000_000), undefined, 'the schedule has 2000000 characters, more than 1000'],
    ['* * * * *', 'x/'.repeat(600), 'the time zone has 1200 characters, more than 1000'],
    ['*/99999999999999999999 * * * *', undefined, 'value out of range'],
    ['0-99999999 * * * *', undefined, 'end of range (99999999) above maximum (59)'],
    ['60 * * * *', undefined, '"60 * * * *": end of range (60) above maximum (59): 60'],
    ['* * * * *', 'Europe/Nowhere', '"* * * * *": provided bad location Europe/Nowhere: unknown time zone'],
  ])('refuses %s in zone %s with what is wrong', (text, zone, message) => {
    expect(() => new Schedule(text, zone)).toThrow(ScheduleError);
    expect(() => new Schedule(text, zone)).toThrow(message);
  });
});
