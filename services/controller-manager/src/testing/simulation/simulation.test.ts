import { describe, expect, it } from 'vitest';
import { checkSeed } from './check-seed.ts';
import { simulate } from './simulate.ts';

/** As many as fit into half a minute of an idle machine; `npm run simulate` runs a thousand. */
const SEEDS = Array.from({ length: 15 }, (_, index) => index + 1);
const TIMEOUT_MS = 300_000;

describe('all controllers on a simulated cluster', () => {
  it.each(SEEDS)(
    'seed %i: faults break no invariant and change no end state',
    { timeout: TIMEOUT_MS },
    async (seed) => {
      expect((await checkSeed(seed)).violations).toEqual([]);
    },
  );

  it('replay a seed change by change', { timeout: TIMEOUT_MS }, async () => {
    const first = await simulate({ seed: 2, faults: 'many' });
    const second = await simulate({ seed: 2, faults: 'many' });
    expect(first.crashes).toBeGreaterThan(0);
    expect(second.trace).toEqual(first.trace);
  });
});
