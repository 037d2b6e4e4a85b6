import { append } from '@gantry/base';
import { type Allowance, BOOL, type CelType, listOf, NULL, STRING } from '@gantry/cel';
import { AdmissionExpressions, JSON_PATCH, OBJECT } from '@gantry/custom-resources';
import {
  duplicate,
  type FieldError,
  invalid,
  type MatchCondition,
  qualifiedName,
  repeatedAt,
  required,
  type Variable,
} from '@gantry/objects';
import { invalidAll } from '@gantry/apimachinery';
import { tooMany } from '../fields/bounded-lists.ts';

/** Whether expressions may use `params`. */
export type Params = 'with params' | 'without params';

const MAX_CONDITIONS = 64;
const IDENTIFIER = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
const RESERVED: ReadonlySet<string> = new Set(
  (
    'true false null in as break const continue else for function if import let loop package namespace return var ' +
    'void while'
  ).split(' '),
);

/** Context of an object's expressions: whether they have `params`, and their common cost allowance. Stored objects have no limit. */
export interface ExpressionContext {
  readonly params: Params;
  readonly allowance: Allowance | undefined;
}

/** Checks conditions: each has a name and a boolean expression. */
export function validateMatchConditions(
  conditions: readonly MatchCondition[] | undefined,
  { params, allowance }: ExpressionContext,
  path: string,
): FieldError[] {
  const list = conditions ?? [];
  const errors: FieldError[] = [];
  const scope = { params: params === 'with params', authorizer: true, patches: false };
  const expressions = new AdmissionExpressions(scope, false, allowance === undefined ? {} : { allowance });
  if (list.length > MAX_CONDITIONS) {
    errors.push(tooMany(path, list.length, MAX_CONDITIONS));
  }
  const isRepeated = repeatedAt(list.map(({ name = '' }) => name));
  list.forEach(({ name = '', expression = '' }, i) => {
    const at = `${path}[${i}]`;
    const trimmed = expression.trim();
    if (trimmed === '') errors.push(required(`${at}.expression`));
    else {
      const compiled = expressions.compile(trimmed, [BOOL]);
      if (!compiled.ok) errors.push(invalid(`${at}.expression`, trimmed, compiled.detail));
    }
    if (name === '') errors.push(required(`${at}.name`));
    else append(errors, invalidAll(`${at}.name`, name, qualifiedName(name)));
    if (name !== '' && isRepeated(i)) {
      errors.push(duplicate(`${at}.name`, name));
    }
  });
  return errors;
}

/** The use of an expression, which determines its result type. */
export type ExpressionUse = 'condition' | 'message' | 'annotation' | 'applyConfiguration' | 'jsonPatch';

/** Checks the expressions of one policy. Later expressions can use declared variables. */
export interface ExpressionCheck {
  /** Checks a variable and declares it as `variables.<name>`. */
  declare(variable: Variable, path: string): FieldError[];
  /** Checks an expression; messages print `shown` for it. */
  compile(expression: string, use: ExpressionUse, path: string, shown?: string): FieldError[];
}

const RESULTS: Readonly<Record<ExpressionUse, readonly CelType[]>> = {
  condition: [BOOL],
  message: [STRING],
  annotation: [STRING, NULL],
  applyConfiguration: [OBJECT],
  jsonPatch: [listOf(JSON_PATCH)],
};

/** Creates a check with the variables of admission. With 'patches', expressions may create objects and patches. */
export function createExpressionCheck(
  { params, allowance }: ExpressionContext,
  results: 'values' | 'patches',
  variables: 'variables' | 'no variables',
): ExpressionCheck {
  const scope = { params: params === 'with params', authorizer: true, patches: results === 'patches' };
  const plain = { ...scope, patches: false };
  const silent = { ...scope, authorizer: false };
  const expressions = new AdmissionExpressions(
    scope,
    variables === 'variables' || results === 'patches',
    allowance === undefined ? {} : { allowance },
  );
  return {
    declare: (variable, path) => {
      const errors = validateVariable(variable, path);
      const { name = '', expression = '' } = variable;
      if (expression.trim() === '') return errors;
      const compiled = expressions.compile(expression, [], plain);
      if (!compiled.ok) return [...errors, invalid(`${path}.expression`, expression, compiled.detail)];
      expressions.declare(name, compiled.program.resultType);
      return errors;
    },
    compile: (expression, use, path, shown = expression) => {
      const compiled = expressions.compile(expression, RESULTS[use], use === 'message' ? silent : scope);
      return compiled.ok ? [] : [invalid(path, shown, compiled.detail)];
    },
  };
}

/** Checks the name of a variable and that it has an expression. */
function validateVariable({ name = '', expression = '' }: Variable, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (name.trim() === '') errors.push(required(`${path}.name`, 'name is not specified'));
  else if (!IDENTIFIER.test(name) || RESERVED.has(name)) {
    errors.push(invalid(`${path}.name`, name, 'must be a valid CEL identifier'));
  }
  if (expression.trim() === '') errors.push(required(`${path}.expression`, 'expression is not specified'));
  return errors;
}
