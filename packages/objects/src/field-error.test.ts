import { expect, it } from 'vitest';
import { repeatedAt } from './field-error.ts';

it('tells which values came before', () => {
  const values = ['a', 'b', 'a', '', 'a', ''];
  expect(values.map((_, index) => repeatedAt(values)(index))).toEqual([false, false, true, false, true, true]);
});
