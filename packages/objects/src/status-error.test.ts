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

it('shows maps in order of their names, and structures as they are', () => {
  const value = { template: 't', matchLabels: { b: '1', a: '2' } };
  expect(StatusError.invalid('', 'Kind', 'x', [invalid('spec.selector', value, '')]).message).toContain(
    '{"template":"t","matchLabels":{"a":"2","b":"1"}}',
  );
  expect(StatusError.invalid('', 'Kind', 'x', [invalid('spec.capacity', { b: '1', a: '2' }, '')]).message).toContain(
    '{"a":"2","b":"1"}',
  );
});
