import { describe, expect, it } from 'vitest';
import { fairShare, Shares } from './bounds.ts';

describe('the share of each namespace', () => {
  it.each([
    [[], 10],
    [[1, 2, 3], 10],
    [[50, 1], 10],
    [[10, 10, 10], 10],
    [[10, 10, 10, 10], 7],
    [[2, 50, 50, 50], 9],
    [[2, 2, 50, 50, 50], 8],
    [[...Array<number>(31).fill(1)], 0],
  ])('of 10 each and 30 in all, where they want %j, is %d', (wanted, expected) => {
    expect(fairShare(wanted, { each: 10, all: 30 })).toBe(expected);
  });

  it('is counted for each', () => {
    const shares = new Shares(3);
    expect([shares.take('a', 2), shares.take('a', 2), shares.take('a'), shares.take('a'), shares.take('b', 3)]).toEqual(
      [true, false, true, false, true],
    );
  });
});
