import type { Clock, InTurns, Turn } from '@gantry/base';

/** Long enough that few computations need a second turn, and short beside what clients notice. */
const TURN_MS = 10;

/**
 * The turns of a process. All computations together have one turn in each round of the event loop, so that many of them stall it no
 * longer than one does. They take turns in the order in which they came.
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

  /** Computes, with other work in between when it takes long. Rejects with the signal's reason when it is aborted meanwhile. */
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
      // What is left of the turn is the next one's.
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
