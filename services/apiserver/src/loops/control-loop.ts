import { backoffMs, type Clock, Signal } from '@gantry/base';
import type { GroupMember } from '@gantry/service';

export interface ControlLoopOptions {
  /** Of the loop, as a member of the process. */
  readonly name: string;
  /**
   * One round: observes, decides, acts. Rounds never overlap. Returns after how many milliseconds the next one is due;
   * after `intervalMs` when it returns nothing.
   */
  readonly reconcile: (signal: AbortSignal) => Promise<number | void>;
  /** Between rounds that nothing else asks for; `Infinity` for rounds on a signal only. */
  readonly intervalMs: number;
  /** Delays after rounds that failed, each twice as long as the one before. */
  readonly retry: { readonly initialMs: number; readonly maxMs: number };
  /** Reports a round that failed; `failures` counts those in a row. The loop goes on. */
  readonly onError: (error: unknown, failures: number) => void;
  /** Subscribes `notify` to the changes that need a round. The returned functions end the subscriptions. */
  readonly subscribe?: (notify: () => void) => readonly (() => void)[];
  /** Resolves when a round can do its work. Each round waits for it. */
  readonly whenReady?: (signal: AbortSignal) => Promise<unknown>;
  /** Whether this process does the work, of several that could. Asked before each round. */
  readonly leads?: (signal: AbortSignal) => Promise<boolean>;
  readonly clock: Clock;
}

/** How soon a process that does not lead asks again whether it does. */
const LEADS_AGAIN_MS = 5000;

/** Runs rounds until it is aborted: at its start, when it is notified, when the next one is due, and again after failures. */
export class ControlLoop implements GroupMember {
  readonly name: string;
  readonly #options: ControlLoopOptions;
  readonly #signal = new Signal();
  #failures = 0;

  constructor(options: ControlLoopOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** Asks for a round: at once, or after the one that runs now. */
  readonly notify = (): void => this.#signal.notify();

  readonly run = async (signal: AbortSignal): Promise<void> => {
    const { subscribe, clock } = this.#options;
    const subscriptions = subscribe?.(this.notify) ?? [];
    try {
      while (!signal.aborted) await this.#signal.wait(clock, await this.#round(signal), signal);
    } finally {
      for (const end of subscriptions) end();
    }
  };

  /** Returns after how long the next round is due. Never throws. */
  async #round(signal: AbortSignal): Promise<number> {
    const { whenReady, leads, reconcile, intervalMs, retry, onError } = this.#options;
    try {
      await whenReady?.(signal);
      const isLeader = leads === undefined || (await leads(signal));
      const delayMs = isLeader ? await reconcile(signal) : LEADS_AGAIN_MS;
      this.#failures = 0;
      return typeof delayMs === 'number' ? delayMs : intervalMs;
    } catch (error) {
      if (signal.aborted) return 0;
      this.#failures += 1;
      onError(error, this.#failures);
      return backoffMs({ ...retry, jitter: 0 }, this.#failures, () => 0);
    }
  }
}
