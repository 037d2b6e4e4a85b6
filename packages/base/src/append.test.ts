import { expect, it } from 'vitest';
import { append } from './append.ts';

it('adds more elements than fit on the stack', () => {
  const to = [0];
  append(to, new Array<number>(2_000_000).fill(1));
  expect(to).toHaveLength(2_000_001);
  expect(to.slice(0, 2)).toEqual([0, 1]);
});
