import { type Clock, raceAbort } from '@gantry/base';

/**
 * How long after the sending of its last successful renewal a node holds its Lease. Shorter than the custodian's `DEAD_MS`, which counts
 * from the later moment when the custodian saw that renewal.
 */
export const HOLD_MS = 3_000;

/** What this process knows of the renewals of its Node's Lease, on its own monotonic clock. */
export class Renewals {
  readonly #clock: Clock;
  readonly #startedMs: number;
  #sentMs: number | undefined;
  #tenure = 0;
  readonly #listeners = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  /** Records a successful renewal by the time when it was sent. */
  renewed(sentMs: number): void {
    if (this.tenure() === undefined) this.#tenure += 1;
    this.#sentMs = sentMs;
    for (const listener of this.#listeners) listener();
  }

  /** The number of the current tenure, which ends when a renewal is late; undefined while this node does not hold its Lease. */
  tenure(): number | undefined {
    const isHeld = this.#sentMs !== undefined && this.#clock.monotonicMs() - this.#sentMs < HOLD_MS;
    return isHeld ? this.#tenure : undefined;
  }

  /** How long the current tenure lasts without a further renewal, in milliseconds; 0 while this node does not hold its Lease. */
  leftMs(): number {
    return this.tenure() === undefined ? 0 : HOLD_MS - this.ageMs();
  }

  /** The time since the last successful renewal was sent; without one, since the start of this process. */
  ageMs(): number {
    return this.#clock.monotonicMs() - (this.#sentMs ?? this.#startedMs);
  }

  /** Resolves when this node holds its Lease. */
  async untilHeld(signal: AbortSignal): Promise<void> {
    while (this.tenure() === undefined) {
      const renewed = Promise.withResolvers<void>();
      const unsubscribe = this.subscribe(renewed.resolve);
      await raceAbort(renewed.promise, signal).finally(unsubscribe);
    }
  }

  /** Calls the listener after each renewal. Returns a function that unsubscribes it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
