import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countCommon,
  countIndexes,
  firstFree,
  formatIntervals,
  hasIndex,
  mergeIntervals,
  parseIntervals,
  withIndexes,
} from './intervals.ts';

describe('lists of indexes', () => {
  it.each([
    ['', 10, ''],
    ['0', 10, '0'],
    ['1,2', 10, '1,2'],
    ['0-3,5', 10, '0-3,5'],
    ['0,1,2,4', 10, '0-2,4'],
    ['0-3,7-9', 8, '0-3,7'],
    ['8,9', 8, ''],
    ['0,x,2-y,4', 10, '0,4'],
    ['-1,3', 10, '3'],
  ])('%j below %i is read as %j', (text, completions, expected) => {
    expect(formatIntervals(parseIntervals(text, completions))).toBe(expected);
  });

  const indexes = fc.uniqueArray(fc.nat({ max: 40 }));
  const options = { seed: 11, numRuns: 300 };
  const toSet = (list: readonly number[]) => withIndexes([], list);

  it('are sets', () => {
    fc.assert(
      fc.property(indexes, indexes, (a, b) => {
        const union = mergeIntervals(toSet(a), toSet(b));
        expect(countIndexes(union)).toBe(new Set([...a, ...b]).size);
        expect(countCommon(toSet(a), toSet(b))).toBe(a.filter((index) => b.includes(index)).length);
        for (let i = 0; i <= 41; i++) expect(hasIndex(union, i)).toBe(a.includes(i) || b.includes(i));
        expect(parseIntervals(formatIntervals(union), 100)).toEqual(union);
      }),
      options,
    );
  });

  it('have gaps, the first of which are found', () => {
    fc.assert(
      fc.property(indexes, fc.nat({ max: 50 }), fc.nat({ max: 50 }), (taken, count, completions) => {
        const free = Array.from({ length: completions }, (_, i) => i).filter((i) => !taken.includes(i));
        expect(firstFree(toSet(taken), count, completions)).toEqual(free.slice(0, count));
      }),
      options,
    );
  });
});
