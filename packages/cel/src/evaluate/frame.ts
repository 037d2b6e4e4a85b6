import type { Turn } from '@gantry/base';
import { compileCost } from '../cost/runtime-cost.ts';
import { type CelResult } from '../values/value.ts';

/** Thrown when an evaluation exceeds its cost limit. */
export class CostExceeded extends Error {}

/** Thrown when the turn of an evaluation is over. Results found so far are kept. */
export class Suspended extends Error {}

const SUSPENDED = new Suspended();

/**
 * Results of parts that take longer than this are kept for later turns. In the largest expression, all shorter parts together take 50 ms.
 */
const KEPT_MS = 0.01;

/** A part of an expression. It is evaluated at most once per scope. */
export type Part = object;

/** The parts of one scope: their results, or their progress. */
export type Scope = Map<Part, { readonly result: CelResult; readonly cost: number } | { readonly progress: unknown }>;

/**
 * The state of one evaluation: values of names, and the cost so far. A suspended evaluation starts again from the beginning; parts that
 * took long are not evaluated again but recalled together with their cost. Each item of a fold has its own scope.
 */
export class Frame {
  /** Values of folds' variables, by slot. */
  readonly locals: (CelResult | undefined)[] = [];
  readonly #resolve: (name: string) => CelResult;
  readonly #limit: number;
  /** Patterns of objects that this evaluation has paid for, with the cost before. */
  readonly #patterns = new Map<string, number>();
  readonly #root: Scope = new Map();
  #scope: Scope | undefined = this.#root;
  #turn: Turn | undefined;
  #cost = 0;

  constructor(resolve: (name: string) => CelResult, limit: number) {
    this.#resolve = resolve;
    this.#limit = limit;
  }

  get cost(): number {
    return this.#cost;
  }

  /** Starts, or restarts after a suspension. Without a turn it is never suspended. */
  begin(turn: Turn | undefined): void {
    this.#turn = turn;
    this.#cost = 0;
    this.#scope = this.#root;
  }

  /** Adds to the cost. Throws when the cost limit is exceeded. */
  charge(cost: number): void {
    this.#cost += cost;
    if (this.#cost > this.#limit) throw new CostExceeded();
  }

  /** Adds the cost of compiling a pattern, once per pattern. */
  chargePattern(pattern: string): void {
    const before = this.#patterns.get(pattern);
    if (before !== undefined && before !== this.#cost) return;
    this.#patterns.set(pattern, this.#cost);
    this.charge(compileCost(pattern));
  }

  variable(name: string): CelResult {
    return this.#resolve(name);
  }

  /** The start time of a part, for `keep`. */
  now(): number {
    return this.#turn?.now() ?? 0;
  }

  /** The result of a part that was evaluated before this evaluation was suspended. */
  recall(part: Part): CelResult | undefined {
    const known = this.#scope?.get(part);
    if (known === undefined || !('result' in known)) return undefined;
    this.#cost = known.cost;
    return known.result;
  }

  /** Keeps the result of a part that took long. Throws Suspended when the turn is over. */
  keep(part: Part, startedAt: number, result: CelResult): CelResult {
    if (this.#turn === undefined || this.#turn.now() - startedAt < KEPT_MS) return result;
    this.#scope ??= new Map();
    this.#scope.set(part, { result, cost: this.#cost });
    this.suspendWhenOver();
    return result;
  }

  /** Throws Suspended when the turn is over. */
  suspendWhenOver(): void {
    if (this.#turn?.isOver() === true) throw SUSPENDED;
  }

  /** The progress of a part at the suspension. */
  progressOf(part: Part): unknown {
    const known = this.#scope?.get(part);
    return known !== undefined && 'progress' in known ? known.progress : undefined;
  }

  /** Keeps the progress of a part. */
  keepProgress(part: Part, progress: unknown): void {
    this.#scope ??= new Map();
    this.#scope.set(part, { progress });
  }

  /** Continues in another scope at the given cost. Returns the previous scope. */
  enter(scope: Scope | undefined, cost = this.#cost): Scope | undefined {
    const before = this.#scope;
    this.#scope = scope;
    this.#cost = cost;
    return before;
  }
}
