/** A share of the event loop's time. Long computations check whether it is over, and then yield to other work. */
export interface Turn {
  /** Monotonic, in milliseconds. */
  now(): number;
  isOver(): boolean;
}

/** The pieces of a computation with a result of type T. */
export type Pieces<T> = Generator<undefined, T, undefined>;

/** A computation in pieces. Each `yield` allows other work to run; the computation then continues in the same turn or in a later one. */
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
