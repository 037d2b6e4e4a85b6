import { type DeclaredType } from '../declared-type.ts';
import { type FunctionDeclaration } from '../check/function-declaration.ts';
import { type CelType } from '../types.ts';
import { type CelResult, type CelValue } from '../values/value.ts';

/** Messages that expressions know by name. */
export interface StructTypes {
  /** The type of a message's field: undefined when the message has none of that name; null when there is no such message. */
  fieldType(struct: string, field: string): CelType | undefined | null;
  /** Makes a message (`Object.spec{replicas: 1}`); absent where expressions may not. */
  create?(struct: string, fields: ReadonlyMap<string, CelValue>): CelResult;
}

/** What expressions may refer to. */
export interface EnvironmentOptions {
  /** Variables by name. Of a declared type, the objects in it are registered as messages too. */
  readonly variables: Readonly<Record<string, CelType | DeclaredType>>;
  /** Further messages. */
  readonly structs?: StructTypes;
  /** Functions besides Kubernetes' own, which are always there. */
  readonly functions?: readonly FunctionDeclaration[];
}

/** Values of variables. A function is called when its variable is first used in an evaluation; what it yields is kept. */
export type Bindings = Readonly<Record<string, CelValue | (() => CelResult)>>;

/** Least and most of a cost or a size, in Kubernetes' units; 2^64 stands for everything that is at least as large. */
export interface Estimate {
  readonly min: number;
  readonly max: number;
}

/** Outcome of an evaluation; `cost` is what it has cost until it ended. */
export type Evaluation =
  | { readonly ok: true; readonly value: CelValue; readonly cost: number }
  | { readonly ok: false; readonly error: string; readonly cost: number };

/** An expression that has been checked. Pure: may be evaluated any number of times. */
export interface Program {
  readonly expression: string;
  readonly resultType: CelType;
  /** What one evaluation may cost, by the sizes that the declared types of variables allow. */
  readonly estimatedCost: Estimate;
  /** Names of the variables that the expression refers to. */
  readonly references: ReadonlySet<string>;
  /** Evaluates; stops with `operation cancelled: actual cost limit exceeded` beyond `costLimit` (PER_CALL_LIMIT when absent). */
  evaluate(bindings: Bindings, costLimit?: number): Evaluation;
}

/** Either the program or why there is none, as cel-go prints it: `ERROR: <input>:1:1: undeclared reference to 'a' ...`. */
export type Compilation =
  | { readonly ok: true; readonly program: Program }
  | {
      readonly ok: false;
      /** As messages name it: `compilation failed: ...`, `program instantiation failed: ...`. */
      readonly stage: 'compilation' | 'program instantiation';
      readonly issues: string;
    };

/** Compiles expressions over the same variables. */
export interface Environment {
  compile(expression: string): Compilation;
}
