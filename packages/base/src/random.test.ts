import { describe, expect, it } from 'vitest';
import { systemRandom } from './random.ts';

describe('the randomness of the system', () => {
  it('is never the same twice, over many draws, and spread over the range', () => {
    const drawn = Array.from({ length: 10_000 }, systemRandom);
    expect(new Set(drawn).size).toBe(drawn.length);
    expect(drawn.every((value) => value >= 0 && value < 1)).toBe(true);
    const mean = drawn.reduce((sum, value) => sum + value, 0) / drawn.length;
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.05);
  });
});
