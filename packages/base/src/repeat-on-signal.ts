import { backoffMs, type BackoffOptions } from './backoff.ts';
import { type Clock, pause } from './clock.ts';
import type { Random } from './random.ts';
import type { Signal } from './signal.ts';

export interface RepeatOptions {
  /** Notified when there is work; also during a step, which is repeated then. */
  readonly work: Signal;
  /** Delays after failures that follow each other. A notification does not shorten them. */
  readonly backoff: BackoffOptions;
  readonly clock: Clock;
  readonly random: Random;
  /** Called with each failure of a step, before the delay. What it throws ends the loop. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Does a step at once, after each notification and after each failure, one at a time, until the signal is aborted. A step returns after how
 * many milliseconds it is to be repeated without a notification; `Infinity` for never. A step that fails because of the abort is no
 * failure.
 */
export async function repeatOnSignal(
  { work, backoff, clock, random, onFailure }: RepeatOptions,
  step: (signal: AbortSignal) => Promise<number>,
  signal: AbortSignal,
): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    let againMs: number;
    try {
      againMs = await step(signal);
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      onFailure(error);
      failures += 1;
      await pause(clock, backoffMs(backoff, failures, random), signal);
      continue;
    }
    await work.wait(clock, againMs, signal);
  }
}
