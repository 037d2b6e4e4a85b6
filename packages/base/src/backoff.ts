import type { Random } from './random.ts';

/** Delays that grow with each failure. */
export interface BackoffOptions {
  readonly initialMs: number;
  readonly maxMs: number;
  /** Growth per failure; 2 when absent. */
  readonly factor?: number;
  /** Share of the delay that is random, 0 to 1; 0.2 when absent. */
  readonly jitter?: number;
}

/** The delay before attempt `failures + 1`, exponential with jitter; `failures` starts at 1. */
export function backoffMs(options: BackoffOptions, failures: number, random: Random): number {
  const { initialMs, maxMs, factor = 2, jitter = 0.2 } = options;
  const base = Math.min(maxMs, initialMs * factor ** Math.max(0, failures - 1));
  return base * (1 - jitter + 2 * jitter * random());
}
