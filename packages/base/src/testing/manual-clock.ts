import type { CancelTimer, Clock, Instant } from '../clock.ts';

/** A clock that only `advance` moves. Timers fire in order of their due time, inside `advance`. */
export class ManualClock implements Clock {
  #now: Instant;
  #timers: { dueMs: number; fire: () => void }[] = [];

  constructor(start: Instant = 1_767_225_600_000) {
    this.#now = start;
  }

  /** Whole milliseconds like the system clock, even if timers have fractional delays. */
  now(): Instant {
    return Math.floor(this.#now);
  }

  monotonicMs(): number {
    return this.#now;
  }

  setTimer(delayMs: number, fire: () => void): CancelTimer {
    const timer = { dueMs: this.#now + Math.max(0, delayMs), fire };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Milliseconds until the next timer, or undefined without one. */
  nextTimerMs(): number | undefined {
    return this.#timers.length === 0 ? undefined : Math.min(...this.#timers.map((t) => t.dueMs)) - this.#now;
  }

  /** Moves time by `ms` and fires due timers; pending promise callbacks run between timers. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await settle();
      const due = this.#timers.filter((t) => t.dueMs <= end).sort((a, b) => a.dueMs - b.dueMs)[0];
      if (due === undefined) break;
      this.#timers = this.#timers.filter((t) => t !== due);
      this.#now = Math.max(this.#now, due.dueMs);
      due.fire();
    }
    this.#now = end;
    await settle();
  }
}

/** Runs every promise callback that is ready. */
async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}
