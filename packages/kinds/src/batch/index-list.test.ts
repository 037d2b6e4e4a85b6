import { describe, expect, it } from 'vitest';
import { countIndexes, findOverlap } from './index-list.ts';

describe('a list of indexes', () => {
  it.each([
    ['', 0],
    ['1,3-5', 4],
    ['1-2-3', /at most two parts/],
    ['a', /cannot convert string to integer for index: "a"/],
    ['9,10', /too large index: "10"/],
    ['3,2', /non-increasing order, previous: 3, current: 2/],
    ['5-5', /non-increasing order/],
  ])('%s is counted, or told to be none', (text, expected) => {
    const found = countIndexes(text, 10);
    if (typeof expected === 'number') expect(found).toBe(expected);
    else expect(typeof found === 'number' ? '' : found.fault).toMatch(expected);
  });

  it('finds what two lists share', () => {
    expect(findOverlap('0-2,7', '3-4,6-8', 10)).toBe('failedIndexes and completedIndexes overlap at index: 7');
    expect(findOverlap('0-2', '3-4', 10)).toBeUndefined();
  });
});
