import type { Instant } from './clock.ts';

/**
 * The result of a pure decision. `actions` are in the order of execution. `requeueAt` is the time to plan again even if nothing changes
 * before.
 */
export interface Plan<Action> {
  readonly actions: readonly Action[];
  readonly requeueAt?: Instant | undefined;
}
