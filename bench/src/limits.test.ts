import { afterEach, beforeEach, expect, it } from 'vitest';
import { judge } from './limits.ts';

let before: typeof process.exitCode;
beforeEach(() => {
  before = process.exitCode;
});
afterEach(() => {
  process.exitCode = before;
});

it('a value within its limit is kept', () => {
  expect(judge('memory', 476.4, { atMost: 500 }, ' MB')).toBe('- kept: memory 476 MB, asked is at most 500 MB');
  expect(judge('speed', 0.5, { atLeast: 0.5 }, '')).toBe('- kept: speed 0.5, asked is at least 0.5');
  expect(process.exitCode).toBe(before);
});

it.each<[number, Parameters<typeof judge>[2], string]>([
  [501, { atMost: 500 }, '- MISSED: value 501 s, asked is at most 500 s'],
  [0.2749, { atLeast: 0.5 }, '- MISSED: value 0.275 s, asked is at least 0.5 s'],
  [Number.NaN, { atMost: 1 }, '- MISSED: value NaN s, asked is at most 1 s'],
])('a value beyond its limit ends the command with 1: %s', (value, limit, said) => {
  expect(judge('value', value, limit, ' s')).toBe(said);
  expect(process.exitCode).toBe(1);
});
