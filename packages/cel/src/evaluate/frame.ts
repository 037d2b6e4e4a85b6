import type { Turn } from '@gantry/base';
import { compileCost } from '../cost/runtime-cost.ts';
import { type CelResult } from '../values/value.ts';

/** Thrown when an evaluation exceeds its cost limit. */
export class CostExceeded extends Error {}

/** Thrown when the turn of an evaluation is over. What it has found by then is kept. */
export class Suspended extends Error {}

const SUSPENDED = new Suspended();

/** Results of parts that take longer are kept for the turns after. All parts of the largest expression that take less together take 50 ms. */
const KEPT_MS = 0.01;

/** A part of an expression. In one scope it is evaluated once at most. */
export type Part = object;

/** What is known of the parts of one scope: their results, or how far they are. */
export type Scope = Map<Part, { readonly result: CelResult; readonly cost: number } | { readonly progress: unknown }>;

/**
 * The state of one evaluation: values of names, and the cost so far. An evaluation that was suspended begins anew: the parts that took
 * long are not evaluated again but recalled with what they cost. Each item of a fold has a scope of its own.
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

  /** Begins, or begins anew after it was suspended. Without a turn it is never suspended. */
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

  /** Adds the cost of compiling a pattern, once. */
  chargePattern(pattern: string): void {
    const before = this.#patterns.get(pattern);
    if (before !== undefined && before !== this.#cost) return;
    this.#patterns.set(pattern, this.#cost);
    this.charge(compileCost(pattern));
  }

  variable(name: string): CelResult {
    return this.#resolve(name);
  }

  /** When a part begins, for `keep`. */
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

  /** How far a part was when the evaluation was suspended. */
  progressOf(part: Part): unknown {
    const known = this.#scope?.get(part);
    return known !== undefined && 'progress' in known ? known.progress : undefined;
  }

  /** Keeps how far a part is. */
  keepProgress(part: Part, progress: unknown): void {
    this.#scope ??= new Map();
    this.#scope.set(part, { progress });
  }

  /** Goes on in another scope, at the cost that it had. Returns the scope of before. */
  enter(scope: Scope | undefined, cost = this.#cost): Scope | undefined {
    const before = this.#scope;
    this.#scope = scope;
    this.#cost = cost;
    return before;
  }
}
