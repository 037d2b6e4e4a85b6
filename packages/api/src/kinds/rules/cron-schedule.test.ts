import { describe, expect, it } from 'vitest';
import { scheduleFault } from './cron-schedule.ts';

describe('a schedule', () => {
  it.each(['* * * * *', '*/5 0-3,7 1 jan MON', 'TZ=Europe/Berlin 0 0 * * *', '@daily', '@every 1h30m', '@every 1.5s'])(
    'may be %s',
    (schedule) => {
      expect(scheduleFault(schedule)).toBeUndefined();
    },
  );

  it.each([
    ['', 'empty spec string'],
    ['* * * *', 'expected exactly 5 fields, found 4'],
    ['60 * * * *', 'end of range (60) above maximum (59): 60'],
    ['*/0 * * * *', 'step of range should be a positive number: */0'],
    ['@often', 'unrecognized descriptor: @often'],
    ['@every 5', 'failed to parse duration @every 5'],
    ['TZ=Nowhere/At * * * * *', 'provided bad location Nowhere/At: unknown time zone Nowhere/At'],
  ])('is not %j', (schedule, fault) => {
    expect(scheduleFault(schedule)).toContain(fault);
  });

  it('is read in linear time', () => {
    expect(scheduleFault(`@every ${'11s'.repeat(100_000)}!`)).toContain('failed to parse duration');
  });
});
