import { describe, expect, it } from 'vitest';
import { parseWindow, WindowError, windowAt } from './reboot-window.ts';

const at = (time: string) => Date.parse(`2026-01-${time}:00Z`);
const shown = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString().slice(8, 16));

describe('a window', () => {
  // 2026-01-01 is a Thursday.
  it.each([
    ['14:00', '1h30m', '01T14:00', true, '01T15:30'],
    ['14:00', '1h30m', '01T15:29', true, '01T15:30'],
    ['14:00', '1h30m', '01T15:30', false, '02T14:00'],
    ['14:00', '1h30m', '01T13:59', false, '01T14:00'],
    ['23:00', '2h', '02T00:30', true, '02T01:00'],
    ['Thu 23:00', '2h', '02T00:30', true, '02T01:00'],
    ['Thu 23:00', '2h', '02T01:00', false, '08T23:00'],
    ['Wed 23:00', '1h', '01T00:00', false, '07T23:00'],
    ['Sun 9:05', '90m', '04T10:34', true, '04T10:35'],
    ['0:00', '24h', '01T12:00', true, undefined],
  ])('of %s for %s is open at %s: %s, until %s', (start, length, now, isOpen, until) => {
    const found = windowAt(parseWindow(start, length), at(now));
    expect([found.isOpen, shown(found.changesAt)]).toEqual([isOpen, until]);
  });

  it('is always open if there is none', () =>
    expect(windowAt(undefined, at('01T12:00'))).toEqual({ isOpen: true, changesAt: undefined }));

  it.each([
    ['24:00', '1h', 'reboot-window-start: "24:00"'],
    ['thu 14:00', '1h', 'reboot-window-start'],
    ['Day 14:00', '1h', 'reboot-window-start'],
    ['', '1h', 'reboot-window-start'],
    ['14:00', '', 'reboot-window-length: ""'],
    ['14:00', '1', 'reboot-window-length: "1"'],
    ['14:00', '0h', 'reboot-window-length'],
    ['14:00', '25h', 'reboot-window-length: 25h is longer'],
    ['Thu 14:00', '169h', 'is longer'],
  ])('of %j for %j is an error', (start, length, message) => {
    expect(() => parseWindow(start, length)).toThrow(WindowError);
    expect(() => parseWindow(start, length)).toThrow(message);
  });
});
