import type { ManualClock } from '@gantry/base/testing';

/** After this many turns of the event loop, work that is still running is taken to wait for a timer. */
const MOST_TURNS = 60;
/** After this many turns without a change, nothing is running any more. */
const QUIET_TURNS = 3;

/** Keeps track of the running work, and moves the clock only when everything waits for it. */
export class Activity {
  readonly #clock: ManualClock;
  readonly #revision: () => number;
  #running = 0;

  constructor(clock: ManualClock, revision: () => number) {
    this.#clock = clock;
    this.#revision = revision;
  }

  /** Runs the work and counts it as running until it settles. */
  async of<T>(work: () => Promise<T>): Promise<T> {
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
    }
  }

  /** Steps until the work has settled. */
  async until(work: Promise<unknown>): Promise<void> {
    let isSettled = false;
    const settle = (): void => void (isSettled = true);
    work.then(settle, settle);
    while (!isSettled) await this.step();
    await work;
  }

  /** Runs everything that does not wait for the clock, and then moves the clock to the next timer. */
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
