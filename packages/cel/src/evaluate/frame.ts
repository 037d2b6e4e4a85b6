import { compileCost } from '../cost/runtime-cost.ts';
import { type CelResult } from '../values/value.ts';

/** Thrown when an evaluation exceeds its cost limit. */
export class CostExceeded extends Error {}

/** The state of one evaluation: values of names, and the cost so far. */
export class Frame {
  /** Values of folds' variables, by slot. */
  readonly locals: (CelResult | undefined)[] = [];
  readonly #resolve: (name: string) => CelResult;
  readonly #limit: number;
  /** Patterns of objects that this evaluation has paid for. */
  readonly #patterns = new Set<string>();
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

  /** Adds the cost of compiling a pattern, once. */
  chargePattern(pattern: string): void {
    if (this.#patterns.has(pattern)) return;
    this.#patterns.add(pattern);
    this.charge(compileCost(pattern));
  }

  variable(name: string): CelResult {
    return this.#resolve(name);
  }
}
