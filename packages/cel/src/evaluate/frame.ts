import { type CelResult } from '../values/value.ts';

/** Thrown when an evaluation exceeds its cost limit. */
export class CostExceeded extends Error {}

/** The state of one evaluation: values of names, and the cost so far. */
export class Frame {
  /** Values of folds' variables, by slot. */
  readonly locals: (CelResult | undefined)[] = [];
  readonly #resolve: (name: string) => CelResult;
  readonly #limit: number;
  #cost = 0;

  constructor(resolve: (name: string) => CelResult, limit: number) {
    this.#resolve = resolve;
    this.#limit = limit;
  }

  get cost(): number {
    return this.#cost;
  }

  /** Adds to the cost. Throws when the cost limit is exceeded. */
  charge(cost: number): void {
    this.#cost += cost;
    if (this.#cost > this.#limit) throw new CostExceeded();
  }

  variable(name: string): CelResult {
    return this.#resolve(name);
  }
}
