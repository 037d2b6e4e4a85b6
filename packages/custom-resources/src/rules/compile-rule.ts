import {
  type Allowance,
  createEnvironment,
  type DeclaredType,
  type Environment,
  formatType,
  MAX_REQUEST_BYTES,
  optionalOf,
  type Program,
} from '@gantry/cel';
import type { ValidationRule } from '@gantry/apimachinery';

/** A compiled rule, or the error why it cannot run. Errors are details of messages. */
export interface CompiledRule {
  readonly rule: ValidationRule;
  readonly program: Program | undefined;
  readonly error: string | undefined;
  readonly message: Program | undefined;
  readonly messageError: string | undefined;
  readonly usesOldSelf: boolean;
}

/**
 * Compiles rules for values of the type. Rules use `self` and `oldSelf`; `oldSelf` is optional if the rule says so. They count against the
 * allowance, if there is one.
 */
export function compileRules(
  rules: readonly ValidationRule[],
  type: DeclaredType,
  allowance?: Allowance,
): readonly CompiledRule[] {
  const counted = allowance === undefined ? {} : { allowance };
  const plain = createEnvironment({ variables: { self: type, oldSelf: type }, ...counted });
  const optional = createEnvironment({ variables: { self: type, oldSelf: optionalOf(type.type) }, ...counted });
  return rules.map((rule) => compileRule(rule, rule.optionalOldSelf === true ? optional : plain));
}

const NOTHING = {
  program: undefined,
  error: undefined,
  message: undefined,
  messageError: undefined,
  usesOldSelf: false,
};

function compileRule(rule: ValidationRule, environment: Environment): CompiledRule {
  const text = rule.rule ?? '';
  if (text.trim() === '') return { rule, ...NOTHING };
  const compiled = compile(environment, text, 'bool', '');
  if (typeof compiled === 'string') return { rule, ...NOTHING, error: compiled };
  const usesOldSelf = compiled.references.has('oldSelf');
  const expression = rule.messageExpression ?? '';
  const message = expression === '' ? undefined : compile(environment, expression, 'string', 'messageExpression ');
  return {
    rule,
    program: compiled,
    error: undefined,
    message: typeof message === 'string' ? undefined : message,
    messageError: typeof message === 'string' ? message : undefined,
    usesOldSelf,
  };
}

function compile(environment: Environment, text: string, type: string, prefix: string): Program | string {
  const compiled = environment.compile(text);
  if (!compiled.ok) {
    const stage = compiled.stage === 'program instantiation' && prefix !== '' ? 'instantiation' : compiled.stage;
    return `${prefix}${stage} failed: ${compiled.issues}`;
  }
  if (formatType(compiled.program.resultType) === type) return compiled.program;
  return `${prefix === '' ? 'cel expression ' : prefix}must evaluate to a ${type}`;
}

/** The maximum number of values of at least this size in one object. */
export function maxCardinality(type: DeclaredType): number {
  return Math.floor(MAX_REQUEST_BYTES / (type.minSerializedSize + 1));
}
