import { expect, test } from 'vitest';
import { Places } from './places.ts';

test('an address has its share of the places, and others have the rest', () => {
  const places = new Places({ max: 3, maxOfAddress: 2 });
  const first = places.take('a');
  expect(first).toBeDefined();
  expect(places.take('a')).toBeDefined();
  expect(places.take('a')).toBeUndefined();
  expect(places.take('b')).toBeDefined();
  expect(places.take('c')).toBeUndefined();
  first?.[Symbol.dispose]();
  first?.[Symbol.dispose]();
  expect(places.take('c')).toBeDefined();
  expect(places.take('d')).toBeUndefined();
});
