import type { ManualClock } from '@gantry/base/testing';

/** Turns of the event loop after which work that waits for a timer is left to wait. */
const MOST_TURNS = 60;
/** Turns without a change after which nothing is under way. */
const QUIET_TURNS = 3;

/** Knows what is under way, and moves the clock only when everything waits for it. */
export class Activity {
  readonly #clock: ManualClock;
  readonly #revision: () => number;
  #running = 0;

  constructor(clock: ManualClock, revision: () => number) {
    this.#clock = clock;
    this.#revision = revision;
  }

  /** Counts the work as under way until it settles. */
  async of<T>(work: () => Promise<T>): Promise<T> {
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
    }
  }

  /** Lets everything run that does not wait for time, then moves the clock to the next timer. */
  async step(): Promise<void> {
    let before = this.#revision();
    let quiet = 0;
    for (let turns = 0; turns < MOST_TURNS && quiet < QUIET_TURNS; turns++) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      const now = this.#revision();
      quiet = now === before && this.#running === 0 ? quiet + 1 : 0;
      before = now;
    }
    await this.#clock.advance(this.#clock.nextTimerMs() ?? 0);
  }
}
