import { expect, it } from 'vitest';
import { formatDelay } from './restart-delay.ts';

it('durations are written as Go writes them', () => {
  expect([10_000, 60_000, 80_000, 300_000].map(formatDelay)).toEqual(['10s', '1m0s', '1m20s', '5m0s']);
});
