import { type ExpressionAllowance } from '../environment/environment.ts';
import { patternOf } from '../patterns/patterns.ts';
import { type Issue } from '../source.ts';
import { type Expr } from '../syntax/ast.ts';
import { toDuration, toTimestamp } from '../values/convert.ts';
import { isError } from '../values/value.ts';
import { type CelType, formatType, sameType } from '../types.ts';
import { type CheckedExpr } from '../check/checked.ts';

/** Reports literals that always fail when evaluated, patterns beyond the allowance, and lists and maps of mixed types. */
export function validateLiterals(checked: CheckedExpr, allowance: ExpressionAllowance | undefined): readonly Issue[] {
  const issues: Issue[] = [];
  const formatted = formatArguments(checked);
  checked.walk((expr) => {
    if (expr.kind === 'call') checkCall(expr, issues, allowance);
    if (formatted.has(expr)) return;
    if (expr.kind === 'list') {
      const types = expr.elements.map((element, index) => held(checked.typeOf(element), expr.optional.has(index)));
      checkSame(expr.elements, types, issues);
    }
    if (expr.kind !== 'map') return;
    checkSame(
      expr.entries.map((entry) => entry.key),
      expr.entries.map((entry) => checked.typeOf(entry.key)),
      issues,
    );
    checkSame(
      expr.entries.map((entry) => entry.value),
      expr.entries.map((entry) => held(checked.typeOf(entry.value), entry.optional)),
      issues,
    );
  });
  return issues;
}

function held(type: CelType, optional: boolean): CelType {
  return optional && type.kind === 'opaque' ? (type.parameters[0] ?? type) : type;
}

function checkSame(exprs: readonly Expr[], types: readonly CelType[], issues: Issue[]): void {
  const [first] = types;
  const odd = types.findIndex((type) => first !== undefined && !sameType(first, type));
  const [expr, type] = [exprs[odd], types[odd]];
  if (first === undefined || expr === undefined || type === undefined) return;
  issues.push({ offset: expr.offset, message: `expected type '${formatType(first)}' but found '${formatType(type)}'` });
}

function checkCall(
  expr: Expr & { readonly kind: 'call' },
  issues: Issue[],
  allowance: ExpressionAllowance | undefined,
): void {
  const [arg] = expr.args;
  if (arg?.kind !== 'literal' || typeof arg.value !== 'string') return;
  const refused = expr.function === 'matches' ? allowance?.takePattern(arg.value) : undefined;
  if (refused !== undefined) {
    issues.push({ offset: arg.offset, message: refused });
    return;
  }
  const bad =
    (expr.function === 'duration' && isError(toDuration(arg.value))) ||
    (expr.function === 'timestamp' && isError(toTimestamp(arg.value))) ||
    (expr.function === 'matches' && !patternOf(arg.value).ok);
  if (bad) issues.push({ offset: arg.offset, message: `invalid ${expr.function} argument` });
}

/** Lists that are arguments of `format` may mix types. */
function formatArguments(checked: CheckedExpr): ReadonlySet<Expr> {
  const lists = new Set<Expr>();
  checked.walk((expr) => {
    if (expr.kind === 'call' && expr.function === 'format') for (const arg of expr.args) lists.add(arg);
  });
  return lists;
}
