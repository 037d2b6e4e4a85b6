import { describe, expect, it } from 'vitest';
import { formatAge, parseAge } from './ages.ts';

describe('ages', () => {
  it.each([
    [0, '0s'],
    [-5000, '0s'],
    [119_000, '119s'],
    [120_000, '2m'],
    [200_000, '3m20s'],
    [25 * 60_000, '25m'],
    [5.2 * 3_600_000, '5h12m'],
    [20 * 3_600_000, '20h'],
    [51 * 3_600_000, '2d3h'],
    [41 * 86_400_000, '41d'],
    [740 * 86_400_000, '2y10d'],
    [Number.NaN, ''],
  ])('writes %d ms as %s', (ms, text) => expect(formatAge(ms)).toBe(text));

  it('reads ages, and nothing else', () => {
    expect(parseAge('3m20s')).toBe(200_000);
    expect(parseAge('<none>')).toBeUndefined();
    expect(parseAge('')).toBeUndefined();
  });
});
