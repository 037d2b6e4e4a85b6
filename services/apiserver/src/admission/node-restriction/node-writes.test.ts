import { expect, it } from 'vitest';
import { modifiedLabels } from './node-writes.ts';

it('labels are compared by value, added and removed ones included', () => {
  expect(modifiedLabels({ a: '1', b: '1', c: '1' }, { a: '1', b: '2', d: '1' })).toEqual(['b', 'c', 'd']);
  expect(modifiedLabels(undefined, undefined)).toEqual([]);
});
