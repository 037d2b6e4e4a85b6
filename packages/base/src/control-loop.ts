import { backoffMs, type BackoffOptions } from './backoff.ts';
import { type Clock, pause } from './clock.ts';
import type { Random } from './random.ts';
import { Signal } from './signal.ts';

export interface ControlLoopOptions {
  /** Of the loop as a member of a process. */
  readonly name?: string;
  /**
   * One round: observes, decides, acts. Rounds never overlap. Returns after how many milliseconds the next one is due; after
   * `intervalMs` when it returns nothing.
   */
  readonly round: (signal: AbortSignal) => Promise<number | void>;
  /** Between rounds that nothing else asks for; `Infinity`, for rounds on a notification only, when absent. */
  readonly intervalMs?: number;
  /** Delays after failures that follow each other; `intervalMs` when absent. */
  readonly retry?: BackoffOptions;
  /** For the jitter of these delays, which have none when it is absent. */
  readonly random?: Random;
  /** What ends such a delay: `time` alone, for work that costs too much to fail at each change, or a `notification` too. */
  readonly retryOn?: 'time' | 'notification';
  /** A round that fails after this time is a first failure again: for rounds that last. */
  readonly lastingMs?: number;
  /** Reports a round that failed; `failures` counts those in a row. What it throws ends the loop. */
  readonly onError: (error: unknown, failures: number) => void;
  /** Subscribes `notify` to the changes that need a round. The returned functions end the subscriptions. */
  readonly subscribe?: (notify: () => void) => readonly (() => void)[];
  /** Asks for a round when it is notified, as `notify` of the loop does. */
  readonly work?: Signal;
  readonly clock: Clock;
}

/**
 * Runs rounds until it is aborted: at its start, when it is notified, when the next one is due, and again after failures. A round that
 * fails because of the abort is no failure.
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

  /** Asks for a round: at once, or after the one that runs now. Bound, so that it can be passed as a listener. */
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
          await this.#delay(failures, signal);
        }
      }
    } finally {
      for (const end of subscriptions) end();
    }
  };

  async #delay(failures: number, signal: AbortSignal): Promise<void> {
    const { intervalMs = Infinity, random = () => 0.5, retryOn = 'notification', clock } = this.#options;
    const { retry = { initialMs: intervalMs, maxMs: intervalMs } } = this.#options;
    const delayMs = backoffMs(retry, failures, random);
    if (retryOn === 'time') await pause(clock, delayMs, signal);
    else await this.#work.wait(clock, delayMs, signal);
  }
}
