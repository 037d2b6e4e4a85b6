import { AdmissionExpressions, type Compiled, type MatchCondition } from '@gantry/api';
import { type Bindings, BOOL, MATCH_CONDITIONS_COST_BUDGET, PER_CALL_LIMIT } from '@gantry/cel';
import { aggregate } from './refuse.ts';

/** Whether conditions hold; when that cannot be told, why. */
export type Matched = { readonly matches: boolean } | { readonly error: string };

const SCOPE = { params: true, authorizer: true, patches: false };
const compiled = new WeakMap<MatchCondition, Compiled>();

/** One that does not hold decides, whatever else cannot be evaluated. */
export function matchConditions(
  conditions: readonly MatchCondition[],
  values: Bindings,
  failurePolicy: string | undefined,
): Matched {
  const errors: string[] = [];
  let budget = MATCH_CONDITIONS_COST_BUDGET;
  for (const condition of conditions) {
    const program = programOf(condition);
    if (!program.ok) {
      errors.push(program.detail);
      continue;
    }
    const result = program.program.evaluate(values, Math.min(PER_CALL_LIMIT, budget));
    budget -= result.cost;
    if (!result.ok) errors.push(evaluationError(condition.expression, result.error));
    else if (result.value === false) return { matches: false };
  }
  if (errors.length === 0) return { matches: true };
  return failurePolicy === 'Ignore' ? { matches: false } : { error: aggregate(errors) };
}

/** Why an expression has no value, as Kubernetes tells it. */
export function evaluationError(expression: string, why: string): string {
  return `expression '${expression}' resulted in error: ${why}`;
}

function programOf(condition: MatchCondition): Compiled {
  const known = compiled.get(condition);
  if (known !== undefined) return known;
  const made = new AdmissionExpressions(SCOPE, false).compile(condition.expression.trim(), [BOOL]);
  compiled.set(condition, made);
  return made;
}
