import { parseArgs } from 'node:util';
import { expect, it } from 'vitest';
import { isUsageError, OptionError, wholeNumber } from './command-options.ts';

it.each([
  ['1', 1],
  ['20', 20],
  ['007', 7],
])('%j is a whole number from 1 to 20', (text, value) => {
  expect(wholeNumber('--jobs', text, 1, 20)).toBe(value);
});

it.each(['0', '21', '-1', '1.5', '1e1', '0x2', ' 2', '', 'x', 'Infinity', 'NaN'])('%j is none', (text) => {
  const message = `--jobs: ${JSON.stringify(text)} is no whole number from 1 to 20`;
  expect(() => wholeNumber('--jobs', text, 1, 20)).toThrow(new OptionError('--jobs', message.slice('--jobs: '.length)));
});

it('knows the errors that are about options', () => {
  const thrown = (run: () => unknown): unknown => {
    try {
      return run();
    } catch (error) {
      return error;
    }
  };
  expect(isUsageError(thrown(() => wholeNumber('--jobs', 'x', 1, 2)))).toBe(true);
  expect(isUsageError(thrown(() => parseArgs({ args: ['--bogus'] })))).toBe(true);
  expect(isUsageError(thrown(() => new URL('no URL')))).toBe(false);
  expect(isUsageError(new Error('--jobs: x'))).toBe(false);
});
