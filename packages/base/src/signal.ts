import type { Clock } from './clock.ts';

/**
 * Lets one loop sleep until it is notified or a delay has passed. Level-triggered: a `notify` during the work makes the next `wait` return
 * at once, and several notifications count as one. The loop must check for work after each `wait`, whatever ended it.
 */
export class Signal {
  #notified = false;
  #end = (): void => undefined;

  /** Ends the current wait, or else the next one. Bound, so that it can be passed as a listener. */
  readonly notify = (): void => {
    this.#notified = true;
    this.#end();
  };

  /** Forgets earlier notifications: for a loop that is about to read the current state. */
  clear(): void {
    this.#notified = false;
  }

  /** Resolves on `notify`, when `signal` is aborted, or after `delayMs`; `Infinity` waits without a timer. One waiter at a time. */
  wait(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
    if (this.#notified || signal.aborted) {
      this.#notified = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const end = (): void => {
        cancel?.();
        signal.removeEventListener('abort', end);
        this.#end = () => undefined;
        this.#notified = false;
        resolve();
      };
      const cancel = delayMs === Infinity ? undefined : clock.setTimer(Math.max(0, delayMs), end);
      signal.addEventListener('abort', end, { once: true });
      this.#end = end;
    });
  }
}
