import { expect, it } from 'vitest';
import { requestTimeoutMs } from './query.ts';

const timeoutOf = (text: string) => requestTimeoutMs(new URLSearchParams({ timeout: text }));

it.each([
  ['', 60_000],
  ['0s', 60_000],
  ['-1s', 60_000],
  ['60s', 60_000],
  ['2h', 60_000],
  ['1.5s', 1500],
  ['1m', 60_000],
  ['100ms', 100],
])('?timeout=%s gives a request %d ms', (text, wanted) => {
  expect(timeoutOf(text)).toBe(wanted);
});

it('a request without the parameter has a minute', () => {
  expect(requestTimeoutMs(new URLSearchParams())).toBe(60_000);
});

// The messages of Go's time.ParseDuration.
it.each([
  ['invalid', 'time: invalid duration "invalid"'],
  ['5', 'time: missing unit in duration "5"'],
  ['1s5', 'time: missing unit in duration "1s5"'],
  ['5x', 'time: unknown unit "x" in duration "5x"'],
  ['-', 'time: invalid duration "-"'],
  ['9999999999h', 'time: invalid duration "9999999999h"'],
])('?timeout=%s is refused', (text, message) => {
  expect(() => timeoutOf(text)).toThrow(`invalid timeout specified in the request URL - ${message}`);
});
