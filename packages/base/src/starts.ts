import type { Clock } from './clock.ts';

/** What may begin in one round of the event loop, in milliseconds of it. */
const ROUND_MS = 10;
/** The most that may begin in a round of what has waited. */
const MAX_OF_ROUND = 64;

/**
 * Bounds what begins in one round of the event loop, so that a crowd of small requests stalls it no longer than one large request does.
 * What has no time left waits for a later round, in the order in which it came. While nothing waits, to begin costs a look at the clock.
 */
export class Starts {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #waiting: (() => void)[] = [];
  #endsAt = 0;
  #isRoundOpen = false;
  #isScheduled = false;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Runs `begin` at once, or in a later round. */
  run(begin: () => void): void {
    if (this.#waiting.length === 0 && this.#hasTime()) {
      begin();
      return;
    }
    this.#waiting.push(begin);
    this.#schedule();
  }

  /** Undefined where the round has time left; otherwise a promise of a round that has. */
  next(): Promise<void> | undefined {
    if (this.#waiting.length === 0 && this.#hasTime()) return undefined;
    return new Promise((resolve) => {
      this.run(resolve);
    });
  }

  #hasTime(): boolean {
    if (!this.#isRoundOpen) {
      this.#isRoundOpen = true;
      this.#endsAt = this.#clock.monotonicMs() + ROUND_MS;
      setImmediate(() => {
        this.#isRoundOpen = false;
      });
    }
    return this.#clock.monotonicMs() < this.#endsAt;
  }

  /**
   * A callback of the next round for each that may begin in it: what one does in microtasks ends before the next callback, and so
   * counts.
   */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const callbacks = Math.min(this.#waiting.length, MAX_OF_ROUND);
    let endsAt = Infinity;
    setImmediate(() => {
      endsAt = this.#clock.monotonicMs() + ROUND_MS;
    });
    for (let i = 0; i < callbacks; i++) {
      setImmediate(() => {
        if (this.#clock.monotonicMs() < endsAt) this.#waiting.shift()?.();
      });
    }
    setImmediate(() => {
      this.#isScheduled = false;
      if (this.#waiting.length > 0) this.#schedule();
    });
  }
}
