import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addQuantity,
  canonicalQuantity,
  compareQuantity,
  formatQuantity,
  parseQuantity,
  QuantityError,
  quantityMilli,
  quantityValue,
  resolveIntOrPercent,
  subtractQuantity,
} from './quantity.ts';

const anyQuantity = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.nat(),
    fc.constantFrom('', '.5', '.001'),
    fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'Ki', 'Mi', 'Gi', 'e3', 'e-3'),
  )
  .map((parts) => parts.join(''));

describe('quantities', () => {
  it('are refused in linear time', () => {
    expect(() => parseQuantity(`${'1'.repeat(1_000_000)}!`)).toThrow(QuantityError);
  });

  it.each([
    ['0', '0'],
    ['1', '1'],
    ['1000m', '1'],
    ['0.5', '500m'],
    ['1500m', '1500m'],
    ['1000', '1k'],
    ['1024', '1024'],
    ['1024Mi', '1Gi'],
    ['1536Mi', '1536Mi'],
    ['0.5Gi', '512Mi'],
    ['1e3', '1e3'],
    ['1000e3', '1e6'],
    ['12e2', '1200'],
    ['0.1n', '1n'],
    ['-1000m', '-1'],
    ['512Ki', '512Ki'],
    ['0.5Ki', '512'],
    ['215958812.5Ki', '221141824000'],
    ['0.5', '500m'],
  ])('%s is written %s', (text, canonical) => {
    expect(canonicalQuantity(text)).toBe(canonical);
  });

  it.each(['', 'x', '1x', 'Not Valid!', '1..2', '1 Gi', '--1', '{"a":1}'])('%j is none', (text) => {
    expect(() => parseQuantity(text)).toThrow(QuantityError);
  });

  it('keeps its amount when it is written and read again', () => {
    fc.assert(
      fc.property(anyQuantity, (text) => {
        const quantity = parseQuantity(text);
        const again = parseQuantity(formatQuantity(quantity));
        expect(compareQuantity(again, quantity)).toBe(0);
        // A fraction of a binary unit is written without a suffix, so it is read as decimal.
        const format = quantity.format === 'binarySI' ? again.format : quantity.format;
        expect(formatQuantity(again)).toBe(formatQuantity({ ...quantity, format }));
      }),
    );
  });

  it('adds and subtracts exactly', () => {
    fc.assert(
      fc.property(anyQuantity, anyQuantity, (left, right) => {
        const [a, b] = [parseQuantity(left), parseQuantity(right)];
        expect(compareQuantity(subtractQuantity(addQuantity(a, b), b), a)).toBe(0);
        expect(compareQuantity(addQuantity(a, b), addQuantity(b, a))).toBe(0);
      }),
    );
  });

  it.each([
    ['9'.repeat(128), '9'.repeat(128)],
    ['9'.repeat(128), '1n'],
    [`${'9'.repeat(128)}E`, '-1n'],
    ['1e100', '1n'],
    [`-${'9'.repeat(128)}`, `-${'9'.repeat(128)}`],
  ])('makes of %s and %s what can be read again, however many digits that would have', (left, right) => {
    for (const result of [addQuantity, subtractQuantity]) {
      const text = formatQuantity(result(parseQuantity(left), parseQuantity(right)));
      expect(formatQuantity(parseQuantity(text))).toBe(text);
    }
  });

  it('rounds away from zero', () => {
    expect(quantityValue('1500m')).toBe(2);
    expect(quantityMilli('0.0001')).toBe(1);
    expect(quantityValue('1Gi')).toBe(1073741824);
  });
});

describe('resolveIntOrPercent', () => {
  it.each([
    [3, 10, 'up', 3],
    ['25%', 10, 'up', 3],
    ['25%', 10, 'down', 2],
    ['0%', 10, 'up', 0],
    ['100%', 7, 'down', 7],
  ] as const)('%s of %i, rounded %s, is %i', (value, total, round, expected) => {
    expect(resolveIntOrPercent(value, total, round)).toBe(expected);
  });

  it('refuses a text that is no percentage', () => {
    expect(() => resolveIntOrPercent('x', 1, 'up')).toThrow('is not a percentage');
  });
});
