import {
  AdmissionExpressions,
  type Compiled,
  type ValidatingAdmissionPolicy,
  type Validation,
  type Variable,
} from '@gantry/api';
import {
  type Bindings,
  BOOL,
  CelError,
  CelMap,
  type CelResult,
  type CelValue,
  PER_CALL_LIMIT,
  STRING,
} from '@gantry/cel';

export interface CompiledValidation {
  readonly validation: Validation;
  readonly condition: Compiled;
  readonly message: Compiled | undefined;
}

/** The programs of a policy. */
export interface CompiledPolicy {
  readonly variables: readonly { readonly name: string; readonly program: Compiled }[];
  readonly validations: readonly CompiledValidation[];
}

const compiled = new WeakMap<object, CompiledPolicy>();

/** Compiled once for each stored revision of the policy. */
export function compilePolicy(policy: ValidatingAdmissionPolicy): CompiledPolicy {
  const known = compiled.get(policy);
  if (known !== undefined) return known;
  const { variables = [], validations = [], paramKind } = policy.spec ?? {};
  const scope = { params: paramKind !== undefined, authorizer: true, patches: false };
  const expressions = new AdmissionExpressions(scope, variables.length > 0);
  const made: CompiledPolicy = {
    variables: variables.map((variable) => declare(variable, expressions)),
    validations: validations.map((validation) => ({
      validation,
      condition: expressions.compile(validation.expression, [BOOL]),
      message:
        (validation.messageExpression ?? '').trim() === ''
          ? undefined
          : expressions.compile(validation.messageExpression ?? '', [STRING], { ...scope, authorizer: false }),
    })),
  };
  compiled.set(policy, made);
  return made;
}

function declare({ name, expression }: Variable, expressions: AdmissionExpressions) {
  const program = expressions.compile(expression, []);
  if (program.ok) expressions.declare(name, program.program.resultType);
  return { name, program };
}

/** Variables by name, each made when it is asked for. */
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

/** Values with the policy's variables, each evaluated when it is first asked for. */
export function withVariables({ variables }: CompiledPolicy, values: Bindings): Bindings {
  if (variables.length === 0) return values;
  const known = new Map<string, CelResult>();
  const lazy = new LazyVariables(
    (name) => {
      const found = known.get(name);
      if (found !== undefined) return found;
      const variable = variables.find((one) => one.name === name);
      if (variable === undefined) return undefined;
      const result = evaluate(variable.program, all);
      known.set(name, result);
      return result;
    },
    variables.map(({ name }) => name),
  );
  const all: Bindings = { ...values, variables: lazy };
  return all;
}

function evaluate(program: Compiled, values: Bindings): CelResult {
  if (!program.ok) return new CelError(program.detail);
  const result = program.program.evaluate(values, PER_CALL_LIMIT);
  return result.ok ? result.value : new CelError(result.error);
}
