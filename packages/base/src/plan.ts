import type { Instant } from './clock.ts';

/**
 * What a pure plan decides: actions, in the order in which they are to be carried out, and when to plan again even though
 * nothing changes until then.
 */
export interface Plan<Action> {
  readonly actions: readonly Action[];
  readonly requeueAt?: Instant | undefined;
}
