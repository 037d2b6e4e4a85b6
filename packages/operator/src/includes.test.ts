import { expect, it } from 'vitest';
import { includes } from './includes.ts';

it('finds a configuration in an object that has more', () => {
  const live = { spec: { replicas: 1, containers: [{ name: 'a', image: 'i', pull: 'Always' }] }, status: {} };
  expect(includes(live, { spec: { containers: [{ name: 'a', image: 'i' }] } })).toBe(true);
  expect(includes(live, { spec: { labels: {}, ports: [], absent: undefined } })).toBe(true);
});

it.each([
  ['another value', { a: 1 }, { a: 2 }],
  ['a field that is not there', { a: 1 }, { b: 1 }],
  ['a longer list', { a: [1, 2] }, { a: [1] }],
  ['another order', { a: [1, 2] }, { a: [2, 1] }],
  ['a map for a list', { a: { 0: 1 } }, { a: [1] }],
  ['a list for a map', { a: [1] }, { a: { 0: 1 } }],
  ['null', { a: null }, { a: { b: 1 } }],
  ['a name that every object inherits', {}, { constructor: 'x' }],
])('finds %s missing', (_, live, wanted) => expect(includes(live, wanted)).toBe(false));
