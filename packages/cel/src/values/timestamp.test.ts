import { expect, it } from 'vitest';
import { calendarFields } from './timestamp.ts';

const NEW_YEAR = BigInt(Date.parse('2030-01-01T00:30:00Z')) * 1_000_000n;

it.each([
  ['Europe/Berlin', 1],
  ['America/New_York', 19],
  ['-08:00', 16],
  ['UTC', 0],
  ['Local', 0],
  ['Factory', 0],
])('the hour in %s is %i', (zone, hour) => {
  expect(calendarFields(NEW_YEAR, zone)).toMatchObject({ hour });
});

it.each(['europe/Berlin', 'utc', '+0200', 'US/Pacific-New'])('%s is no zone', (zone) => {
  expect(calendarFields(NEW_YEAR, zone)).toEqual({ message: `unknown time zone ${zone}` });
});
