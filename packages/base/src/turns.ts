/** A share of the event loop's time. Long computations look whether it is over, and let others run when it is. */
export interface Turn {
  /** Monotonic, in milliseconds. */
  now(): number;
  isOver(): boolean;
}

/** Pieces of a computation whose result is a T. */
export type Pieces<T> = Generator<undefined, T, undefined>;

/** A computation in pieces: each `yield` is a place where others may run. It goes on in the same turn, or in a later one. */
export type InTurns<T> = (turn: Turn) => Pieces<T>;

/** A turn that does not end. */
const ENDLESS: Turn = { now: () => 0, isOver: () => false };

/** Computes without a break. */
export function atOnce<T>(work: InTurns<T>): T {
  const pieces = work(ENDLESS);
  for (;;) {
    const piece = pieces.next();
    if (piece.done === true) return piece.value;
  }
}
