import type { Clock, InTurns, Turn } from '@gantry/base';

/** Duration of a turn: long enough for most computations, and too short for clients to notice. */
const TURN_MS = 10;

/**
 * Schedules long computations of a process. All computations together have one turn per round of the event loop, so that many of them
 * block it no longer than one does. They take turns in the order of their start.
 */
export class Turns implements Turn {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #waiting: (() => void)[] = [];
  #endsAt = 0;
  #isRoundOpen = false;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.monotonicMs();
  }

  isOver(): boolean {
    if (!this.#isRoundOpen) this.#beginRound();
    return this.now() >= this.#endsAt;
  }

  /** Runs a computation, in several turns if it takes long. Rejects with the reason of the signal when it is aborted. */
  async run<T>(work: InTurns<T>, signal: AbortSignal): Promise<T> {
    const pieces = work(this);
    try {
      for (;;) {
        const piece = pieces.next();
        if (piece.done === true) return piece.value;
        if (!this.isOver()) continue;
        await this.#nextTurn();
        signal.throwIfAborted();
      }
    } finally {
      // The next computation gets the rest of the turn.
      if (this.#isRoundOpen && this.now() < this.#endsAt) this.#waiting.shift()?.();
    }
  }

  #beginRound(): void {
    this.#isRoundOpen = true;
    this.#endsAt = this.now() + TURN_MS;
    setImmediate(() => {
      const next = this.#waiting.shift();
      this.#isRoundOpen = false;
      if (next === undefined) return;
      this.#beginRound();
      next();
    });
  }

  #nextTurn(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }
}
