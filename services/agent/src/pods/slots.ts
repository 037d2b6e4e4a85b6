/** `finish`: the last part of work that was begun. It goes before what has not been begun. */
export type Turn = 'begin' | 'finish';

/** After this many pieces of one kind in a row, one of the other kind has its turn. */
const MAX_IN_A_ROW = 8;

/**
 * Runs at most `count` pieces of work at once; the others wait, each kind in its order. Half of several equal jobs are done at half of
 * the time when each is finished before the next begins, and all at the end when all begin first. Work that is aborted while it waits
 * never begins.
 */
export class Slots {
  readonly #waiting: Readonly<Record<Turn, (() => void)[]>> = { begin: [], finish: [] };
  #free: number;
  #finishedInARow = 0;

  constructor(count: number) {
    this.#free = count;
  }

  async use<T>(work: () => Promise<T>, signal: AbortSignal, turn: Turn = 'begin'): Promise<T> {
    if (this.#free === 0) await new Promise<void>((resolve) => this.#waiting[turn].push(resolve));
    else this.#free -= 1;
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      const next = this.#next();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }

  #next(): (() => void) | undefined {
    const { begin, finish } = this.#waiting;
    const isTurn = finish.length > 0 && (begin.length === 0 || this.#finishedInARow < MAX_IN_A_ROW);
    this.#finishedInARow = isTurn ? this.#finishedInARow + 1 : 0;
    return (isTurn ? finish : begin).shift();
  }
}
