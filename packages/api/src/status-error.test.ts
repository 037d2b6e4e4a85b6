import { expect, it } from 'vitest';
import { invalid } from './field-error.ts';
import { StatusError } from './status-error.ts';

it('tells each error once in the message, and each as a cause', () => {
  const twice = invalid('spec.a', 1, 'must be 2');
  const { message, details } = StatusError.invalid('g', 'Kind', 'x', [twice, twice]).toStatus();
  expect(message).toBe('Kind.g "x" is invalid: spec.a: Invalid value: 1: must be 2');
  expect(details?.causes).toHaveLength(2);
});

it('stays small where every one of many errors repeats the whole value', () => {
  const value = Array.from({ length: 20_000 }, (_, index) => `value ${index}`);
  const errors = value.map((_, index) => invalid(`spec.list[${index}]`, value, 'wrong'));
  expect(JSON.stringify(StatusError.invalid('', 'Kind', 'x', errors).toStatus()).length).toBeLessThan(5_000_000);
  expect(StatusError.invalid('', 'Kind', 'x', [invalid('a', 'x'.repeat(2_000_000), '')]).message).toContain('xxx');
});
