import { describe, expect, it } from 'vitest';
import { scheduleFault } from './cron-schedule.ts';
import { timeZone, timeZoneFault } from './time-zone.ts';

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
    ['constructor', 'expected exactly 5 fields, found 1: [constructor]'],
    ['@every 2562048h', 'failed to parse duration @every 2562048h: time: invalid duration "2562048h"'],
    ['@every 5', 'failed to parse duration @every 5'],
    ['TZ=Nowhere/At * * * * *', 'provided bad location Nowhere/At: unknown time zone Nowhere/At'],
  ])('is not %j', (schedule, fault) => {
    expect(scheduleFault(schedule)).toContain(fault);
  });

  it('is read in linear time', () => {
    expect(scheduleFault(`@every ${'11s'.repeat(100_000)}!`)).toContain('failed to parse duration');
  });
});

describe('a cron schedule', () => {
  it.each(['*/5 * * * *', '0 0 1 jan sun', '1,2-4/2 ? * * 0-6', '@daily', '@every 1h30m', 'CRON_TZ=Etc/UTC 0 0 * * *'])(
    '%s is one',
    (text) => {
      expect(scheduleFault(text)).toBeUndefined();
    },
  );

  it.each([
    ['* * *', 'expected exactly 5 fields, found 3: [* * *]'],
    ['60 * * * *', 'end of range (60) above maximum (59): 60'],
    ['* * 0 * *', 'beginning of range (0) below minimum (1): 0'],
    ['5-1 * * * *', 'beginning of range (5) beyond end of range (1): 5-1'],
    ['*/0 * * * *', 'step of range should be a positive number: */0'],
    ['a * * * *', 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'],
    ['1-2-3 * * * *', 'too many hyphens: 1-2-3'],
    ['1/2/3 * * * *', 'too many slashes: 1/2/3'],
    ['@often', 'unrecognized descriptor: @often'],
    ['@every day', 'failed to parse duration @every day: time: invalid duration "day"'],
    ['TZ=Nowhere * * * * *', 'provided bad location Nowhere: unknown time zone Nowhere'],
  ])('%s is none', (text, fault) => {
    expect(scheduleFault(text)).toBe(fault);
  });

  it.each([
    'Europe/Berlin',
    'UTC',
    'CET',
    'EST5EDT',
    'Etc/GMT-14',
    'America/Argentina/Buenos_Aires',
    'GB',
    'Factory',
    'Local',
  ])('knows the zone %s', (zone) => {
    expect(timeZoneFault(zone)).toBeUndefined();
    expect(timeZone(zone).toLocal(0)).toBeTypeOf('number');
  });

  it.each([
    ...['Europe/Nowhere', 'europe/Berlin', 'EUROPE/BERLIN', 'utc', 'Utc', 'cet', 'local', 'factory', 'US/Pacific-New'],
    ...['+02:00', 'GMT+1', 'Etc/Unknown', 'constructor', 'posixrules', 'Europe/'],
  ])('knows no zone %s', (zone) => {
    expect(timeZoneFault(zone)).toBe(`unknown time zone ${zone}`);
    expect(scheduleFault(`CRON_TZ=${zone} 0 0 * * *`)).toBe(`provided bad location ${zone}: unknown time zone ${zone}`);
  });
});
