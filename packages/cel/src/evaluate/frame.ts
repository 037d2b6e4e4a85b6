import { type CelResult } from '../values/value.ts';

/** Thrown when an evaluation has cost more than it may. */
export class CostExceeded extends Error {}

/** One evaluation: values of names, and what it has cost so far. */
export class Frame {
  /** Values of folds' variables, by the slots that planning gave them. */
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

  /** Adds to the cost; ends the evaluation when that is too much. */
  charge(cost: number): void {
    this.#cost += cost;
    if (this.#cost > this.#limit) throw new CostExceeded();
  }

  variable(name: string): CelResult {
    return this.#resolve(name);
  }
}
