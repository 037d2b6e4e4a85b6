import { errorMessage } from './abort.ts';
import { type Clock, sleep } from './clock.ts';

export interface UntilDoneOptions {
  readonly clock: Clock;
  /** Milliseconds between a failure and the next attempt. */
  readonly everyMs: number;
  /** Reports why the work failed. Consecutive failures with the same reason are reported once. */
  readonly onReason: (reason: string) => void;
}

/** Repeats `work` until it succeeds, and resolves with its result. Rejects only when the signal is aborted. */
export async function untilDone<T>(
  { clock, everyMs, onReason }: UntilDoneOptions,
  work: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  let reported: string | undefined;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      const reason = errorMessage(error);
      if (reason !== reported) onReason(reason);
      reported = reason;
    }
    await sleep(clock, everyMs, signal);
  }
}
