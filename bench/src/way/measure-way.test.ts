import { expect, it } from 'vitest';
import { thirds } from './measure-way.ts';

it('memory of the first rounds, in which code is compiled and caches fill, counts nothing', () => {
  expect(thirds([900, 800, 100, 100, 110, 120])).toEqual({ before: 100, after: 115 });
  expect(thirds([900, 800, 700, 100, 100, 110, 120])).toEqual({ before: 100, after: 115 });
});
