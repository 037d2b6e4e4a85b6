import { expect, it } from 'vitest';
import { simulateScheduler } from './simulation.ts';

const SEEDS = Array.from({ length: 20 }, (_, index) => index + 1);
const TIMEOUT_MS = 300_000;

it.each(SEEDS)(
  'seed %i: crashes, late views and lost history break no rule of placement',
  { timeout: TIMEOUT_MS },
  async (seed) => {
    const { violations, bound, crashes } = await simulateScheduler(seed);
    expect(violations).toEqual([]);
    expect([bound > 5, crashes > 0]).toEqual([true, true]);
  },
);
