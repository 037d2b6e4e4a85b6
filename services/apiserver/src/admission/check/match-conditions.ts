import { AdmissionExpressions, type Compiled } from '@gantry/custom-resources';
import type { MatchCondition } from '@gantry/objects';
import type { InTurns, Turn } from '@gantry/base';
import { type Bindings, BOOL, evaluateInTurns, MATCH_CONDITIONS_COST_BUDGET } from '@gantry/cel';
import { aggregate } from './refuse.ts';

/** Kubernetes' message when the cost budget is used up. */
export const OUT_OF_BUDGET =
  'validation failed due to running out of cost budget, no further validation rules will be run';

/** Whether all conditions match, or the error of an evaluation. */
export type Matched = { readonly matches: boolean } | { readonly error: string };

const SCOPE = { params: true, authorizer: true, patches: false };
const compiled = new WeakMap<MatchCondition, Compiled>();

/** Evaluates match conditions. If one is false, the result is no match, even if others fail. They cannot use the namespace object. */
export function matchConditions(
  conditions: readonly MatchCondition[],
  values: Bindings,
  failurePolicy: string | undefined,
): InTurns<Matched> {
  return (turn) => judgeConditions(turn, conditions, values, failurePolicy);
}

function* judgeConditions(
  turn: Turn,
  conditions: readonly MatchCondition[],
  values: Bindings,
  failurePolicy: string | undefined,
): Generator<undefined, Matched, undefined> {
  const errors: string[] = [];
  const seen: Bindings = { ...values, namespaceObject: null };
  let budget = MATCH_CONDITIONS_COST_BUDGET;
  let falsified = false;
  for (const condition of conditions) {
    const program = programOf(condition);
    if (!program.ok) {
      errors.push(`compilation error: ${program.detail}`);
      continue;
    }
    const result = yield* evaluateInTurns(program.program, turn, seen);
    budget -= result.cost;
    if (budget < 0) return failurePolicy === 'Ignore' ? { matches: false } : { error: OUT_OF_BUDGET };
    if (!result.ok) errors.push(evaluationError(condition.expression, result.error));
    else if (result.value === false) falsified = true;
  }
  if (falsified) return { matches: false };
  if (errors.length === 0) return { matches: true };
  return failurePolicy === 'Ignore' ? { matches: false } : { error: aggregate(errors) };
}

/** Kubernetes' message for an expression that failed. */
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
