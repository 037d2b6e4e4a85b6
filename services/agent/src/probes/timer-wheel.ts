import type { Clock } from '@gantry/base';

/** Waits that end within the same interval are woken together. */
const TICK_MS = 100;

/**
 * Lets many loops wait with a single timer. Waiters of the same tick are woken together, and there is no timer without waiters. So a
 * thousand probes cause at most ten wake-ups per second.
 */
export class TimerWheel {
  readonly #clock: Clock;
  /** Waiters by the tick at which they are woken. */
  readonly #waiting = new Map<number, Set<() => void>>();
  #armed: { readonly tick: number; readonly cancel: () => void } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves after `delayMs`, up to 100 ms late; immediately for 0 or less. Rejects when `signal` is aborted. */
  async wait(delayMs: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (delayMs <= 0) return;
    const tick = Math.ceil((this.#clock.monotonicMs() + delayMs) / TICK_MS);
    await new Promise<void>((resolve, reject) => {
      const waiters = this.#waiting.get(tick) ?? new Set();
      this.#waiting.set(tick, waiters);
      const wake = () => {
        signal.removeEventListener('abort', abort);
        resolve();
      };
      const abort = () => {
        waiters.delete(wake);
        if (waiters.size === 0 && this.#waiting.get(tick) === waiters) this.#waiting.delete(tick);
        this.#arm();
        reject(signal.reason);
      };
      waiters.add(wake);
      signal.addEventListener('abort', abort, { once: true });
      this.#arm();
    });
  }

  #arm(): void {
    let first = Infinity;
    for (const tick of this.#waiting.keys()) first = Math.min(first, tick);
    if (this.#armed?.tick === first) return;
    this.#armed?.cancel();
    this.#armed = undefined;
    if (first === Infinity) return;
    const delayMs = Math.max(0, first * TICK_MS - this.#clock.monotonicMs());
    this.#armed = { tick: first, cancel: this.#clock.setTimer(delayMs, () => this.#turn()) };
  }

  #turn(): void {
    this.#armed = undefined;
    const now = this.#clock.monotonicMs() / TICK_MS;
    for (const [tick, waiters] of this.#waiting) {
      if (tick > now) continue;
      this.#waiting.delete(tick);
      for (const wake of waiters) wake();
    }
    this.#arm();
  }
}
