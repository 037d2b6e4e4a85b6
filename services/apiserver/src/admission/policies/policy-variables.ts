import { type InTurns, must, type Turn } from '@gantry/base';
import type { AdmissionExpressions, Compiled } from '@gantry/custom-resources';
import type { Variable } from '@gantry/objects';
import {
  type Bindings,
  CelError,
  CelMap,
  type CelResult,
  type CelValue,
  type Evaluation,
  evaluateInTurns,
  type Program,
  type Run,
  Suspended,
} from '@gantry/cel';

/** A variable of a policy. */
export interface CompiledVariable {
  readonly name: string;
  readonly program: Compiled;
}

/** Compiles the variables. Each is declared for the variables after it and for later expressions. */
export function compileVariables(
  variables: readonly Variable[],
  expressions: AdmissionExpressions,
): readonly CompiledVariable[] {
  return variables.map(({ name, expression }) => {
    const program = expressions.compile(expression, []);
    if (program.ok) expressions.declare(name, program.program.resultType);
    return { name, program };
  });
}

/** Variables by name. Each is evaluated at its first use. */
class LazyVariables extends CelMap {
  readonly typeName = 'kubernetes.variables';
  readonly #make: (name: string) => CelResult | undefined;
  readonly #names: readonly string[];

  constructor(make: (name: string) => CelResult | undefined, names: readonly string[]) {
    super();
    this.#make = make;
    this.#names = names;
  }

  get size(): number {
    return this.#names.length;
  }

  get(key: CelValue): CelResult | undefined {
    return typeof key === 'string' ? this.#make(key) : undefined;
  }

  keys(): Iterable<CelValue> {
    return this.#names;
  }
}

/** Evaluates the expressions of a policy for one request, within one cost budget. */
export class PolicyEvaluation {
  readonly #values: Bindings;
  /** The variables that are being evaluated. */
  readonly #runs = new Map<string, Run>();
  #turn: Turn | undefined;
  #budget: number;

  /** Variables are evaluated at their first use. Their cost counts towards the budget. */
  constructor(variables: readonly CompiledVariable[], known: Bindings, budget: number) {
    this.#budget = budget;
    // If several variables have the same name, the first one is used.
    const byName = new Map(variables.toReversed().map((variable) => [variable.name, variable]));
    const made = new Map<string, CelResult>();
    const lazy = new LazyVariables(
      (name) => {
        const variable = byName.get(name);
        if (variable === undefined) return undefined;
        const known = made.get(name);
        // The result may be null.
        if (known !== undefined) return known;
        const result = this.#variable(variable);
        made.set(name, result);
        return result;
      },
      variables.map(({ name }) => name),
    );
    this.#values = { ...known, variables: lazy };
  }

  /** The result of an expression; undefined when the expression or its variables exceed the budget. */
  evaluate(program: Program): InTurns<Evaluation | undefined> {
    return (turn) => this.#evaluate(program, turn);
  }

  *#evaluate(program: Program, turn: Turn): Generator<undefined, Evaluation | undefined, undefined> {
    this.#turn = turn;
    const result = yield* evaluateInTurns(program, turn, this.#values);
    this.#budget -= result.cost;
    return this.#budget < 0 ? undefined : result;
  }

  /** Evaluates a variable. Throws Suspended while it needs another turn; the evaluation then requests it again. */
  #variable({ name, program }: CompiledVariable): CelResult {
    const quoted = JSON.stringify(name);
    if (!program.ok) return new CelError(`composited variable ${quoted} fails to compile: ${program.detail}`);
    const run = this.#runs.get(name) ?? program.program.begin(this.#values);
    this.#runs.set(name, run);
    const result = run.advance(must(this.#turn, 'variables are made in a turn'));
    if (result === undefined) throw new Suspended();
    this.#runs.delete(name);
    this.#budget -= result.cost;
    return result.ok ? result.value : new CelError(`composited variable ${quoted} fails to evaluate: ${result.error}`);
  }
}
