import type { Turn } from '@gantry/base';
import type { DeclaredType } from '../declared-type.ts';
import type { FunctionDeclaration } from './function-declaration.ts';
import type { CelType } from '../types.ts';
import type { CelResult, CelValue } from '../values/value.ts';

/** Message types by name. */
export interface StructTypes {
  /** The type of a message's field: undefined for an unknown field, null for an unknown message. */
  fieldType(struct: string, field: string): CelType | undefined | null;
  /** Creates a message (`Object.spec{replicas: 1}`); absent where expressions may not create any. */
  create?(struct: string, fields: ReadonlyMap<string, CelValue>): CelResult;
}

/** Counts expressions against a limit. Methods return why an expression is rejected, undefined while there is room. See `Allowance`. */
export interface ExpressionAllowance {
  readonly refusal: string | undefined;
  takeExpression(tokens: number, parts: number): string | undefined;
  takePattern(text: string): string | undefined;
}

/** The names that expressions may use. */
export interface EnvironmentOptions {
  /** Variables by name. Objects within a declared type are registered as messages too. */
  readonly variables: Readonly<Record<string, CelType | DeclaredType>>;
  /** Further messages. */
  readonly structs?: StructTypes;
  /** Functions in addition to Kubernetes' own, which are always available. */
  readonly functions?: readonly FunctionDeclaration[];
  /** Expressions compiled here count against it; their total is not limited when absent. */
  readonly allowance?: ExpressionAllowance;
}

/** Values of variables. A function is called once per evaluation, when its variable is first used. */
export type Bindings = Readonly<Record<string, CelValue | (() => CelResult)>>;

/** Minimum and maximum of a cost or a size, in Kubernetes' units. 2^64 means "2^64 or more". */
export interface Estimate {
  readonly min: number;
  readonly max: number;
}

/** The result of an evaluation and its actual cost. */
export type Evaluation =
  | { readonly ok: true; readonly value: CelValue; readonly cost: number }
  | { readonly ok: false; readonly error: string; readonly cost: number };

/** An evaluation that may take several turns. */
export interface Run {
  /**
   * Continues until the turn is over; returns undefined if another turn is needed. Checks the time between items of folds and after long
   * calls.
   */
  advance(turn: Turn): Evaluation | undefined;
}

/** A checked expression. Pure: it may be evaluated any number of times. */
export interface Program {
  readonly expression: string;
  readonly resultType: CelType;
  /** The estimated cost of one evaluation, from the sizes that the declared types of variables allow. */
  readonly estimatedCost: Estimate;
  /** Names of the variables that the expression refers to. */
  readonly references: ReadonlySet<string>;
  /** Evaluates. Fails with `operation cancelled: actual cost limit exceeded` beyond `costLimit` (default: PER_CALL_LIMIT). */
  evaluate(bindings: Bindings, costLimit?: number): Evaluation;
  /** The same in turns. If computing a variable takes several turns itself, its function throws Suspended, and is called again later. */
  begin(bindings: Bindings, costLimit?: number): Run;
}

/** The program, or the issues as cel-go prints them: `ERROR: <input>:1:1: undeclared reference to 'a' ...`. */
export type Compilation =
  | { readonly ok: true; readonly program: Program }
  | {
      readonly ok: false;
      /** The phase as messages name it: `compilation failed: ...`, `program instantiation failed: ...`. */
      readonly stage: 'compilation' | 'program instantiation';
      readonly issues: string;
    };

/** Compiles expressions over the same variables. */
export interface Environment {
  compile(expression: string): Compilation;
}

/** Evaluates in as many turns as necessary. Also yields after the evaluation if the turn is over. */
export function* evaluateInTurns(
  program: Program,
  turn: Turn,
  bindings: Bindings,
): Generator<undefined, Evaluation, undefined> {
  const run = program.begin(bindings);
  for (;;) {
    const result = run.advance(turn);
    if (result === undefined || turn.isOver()) yield;
    if (result !== undefined) return result;
  }
}
