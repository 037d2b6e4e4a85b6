import { expect, it } from 'vitest';
import { intlTimeZone } from './intl-time-zone.ts';

it('knows all zones of the runtime, by their exact names', () => {
  const zones = Intl.supportedValuesOf('timeZone');
  expect(zones.filter((zone) => intlTimeZone(zone) !== zone)).toEqual([]);
  const others = zones.map((zone) => zone.toLowerCase());
  expect(others.filter((zone) => intlTimeZone(zone) !== undefined)).toEqual([]);
});

it.each(['', 'UTC', 'Local', 'Factory'])('%j is UTC', (zone) => {
  expect(intlTimeZone(zone)).toBe('UTC');
});

it.each(['US/Eastern', 'America/Indiana/Knox', 'Etc/GMT-14', 'CST6CDT'])('%s is a zone under another name', (zone) => {
  expect(intlTimeZone(zone)).toBe(zone);
  expect(() => new Intl.DateTimeFormat('en', { timeZone: zone })).not.toThrow();
});
