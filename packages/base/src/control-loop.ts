import { backoffMs, type BackoffOptions } from './backoff.ts';
import { type Clock, pause } from './clock.ts';
import type { Random } from './random.ts';
import { Signal } from './signal.ts';

export interface ControlLoopOptions {
  /** Names the loop as a member of a process; `loop` when absent. */
  readonly name?: string;
  /**
   * One round: observes, decides, acts. Rounds never overlap. Returns the delay until the next round in milliseconds; `intervalMs` applies
   * when it returns nothing.
   */
  readonly round: (signal: AbortSignal) => Promise<number | void>;
  /** Milliseconds between rounds without a notification; `Infinity`, which means no rounds without one, when absent. */
  readonly intervalMs?: number;
  /** Delays after consecutive failures, which may depend on the last error; `intervalMs` when absent. */
  readonly retry?: BackoffOptions | ((error: unknown) => BackoffOptions);
  /** For the jitter of retry delays; without it there is no jitter. */
  readonly random?: Random;
  /**
   * What ends a retry delay: `time` alone, or a `notification` too. `time` is for work that is too expensive to fail at every change.
   * `notification` when absent.
   */
  readonly retryOn?: 'time' | 'notification';
  /**
   * A failure of a round that ran at least this long counts as the first failure: for rounds that normally run for long. `Infinity` when
   * absent.
   */
  readonly lastingMs?: number;
  /** Reports a failed round; `failures` counts consecutive failures. An error that it throws ends the loop. */
  readonly onError: (error: unknown, failures: number) => void;
  /** Subscribes `notify` to changes that need a round. `run` calls the returned functions at its end, to unsubscribe. */
  readonly subscribe?: (notify: () => void) => readonly (() => void)[];
  /** A shared signal: notifying it requests a round, as the loop's `notify` does. */
  readonly work?: Signal;
  readonly clock: Clock;
}

/**
 * Runs rounds until aborted: at the start, after a notification, when the next round is due, and again after a failure. An error caused by
 * the abort does not count as a failure.
 *
 * @example
 * ```ts
 * const loop = new ControlLoop({
 *   name: 'expiry',
 *   round: async (signal) => await removeExpired(signal), // returns the milliseconds until the next expiry
 *   retry: { initialMs: 100, maxMs: 10_000 },
 *   onError: (error, failures) => log.warn({ err: error, failures }, 'expiry failed'),
 *   subscribe: (notify) => [informers.subscribe(notify)],
 *   clock,
 * });
 * await loop.run(signal);
 * ```
 */
export class ControlLoop {
  readonly name: string;
  readonly #options: ControlLoopOptions;
  readonly #work: Signal;

  constructor(options: ControlLoopOptions) {
    this.name = options.name ?? 'control-loop';
    this.#options = options;
    this.#work = options.work ?? new Signal();
  }

  /** Requests a round: at once, or after the current one. Bound, so that it can be passed as a listener. */
  readonly notify = (): void => this.#work.notify();

  readonly run = async (signal: AbortSignal): Promise<void> => {
    const { round, intervalMs = Infinity, lastingMs = Infinity, subscribe, onError, clock } = this.#options;
    const subscriptions = subscribe?.(this.notify) ?? [];
    let failures = 0;
    try {
      while (!signal.aborted) {
        const startedMs = clock.monotonicMs();
        try {
          const delayMs = await round(signal);
          failures = 0;
          await this.#work.wait(clock, typeof delayMs === 'number' ? delayMs : intervalMs, signal);
        } catch (error) {
          if (signal.aborted) return;
          failures = clock.monotonicMs() - startedMs >= lastingMs ? 1 : failures + 1;
          onError(error, failures);
          await this.#delay(error, failures, signal);
        }
      }
    } finally {
      for (const end of subscriptions) end();
    }
  };

  async #delay(error: unknown, failures: number, signal: AbortSignal): Promise<void> {
    const { intervalMs = Infinity, random = () => 0.5, retryOn = 'notification', clock } = this.#options;
    const { retry = { initialMs: intervalMs, maxMs: intervalMs } } = this.#options;
    const delayMs = backoffMs(typeof retry === 'function' ? retry(error) : retry, failures, random);
    if (retryOn === 'time') await pause(clock, delayMs, signal);
    else await this.#work.wait(clock, delayMs, signal);
  }
}
