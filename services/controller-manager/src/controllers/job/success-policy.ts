import type { SuccessPolicy } from '@gantry/objects';
import { countCommon, countIndexes, type Intervals, parseIntervals } from './intervals.ts';

/** The message of the condition when a rule of the policy is met; undefined when none is. */
export function matchSuccessPolicy(
  policy: SuccessPolicy | undefined,
  completions: number,
  succeeded: Intervals,
): string | undefined {
  if (policy === undefined || succeeded.length === 0) return undefined;
  const met = policy.rules.findIndex(({ succeededIndexes, succeededCount = Infinity }) => {
    if (succeededIndexes === undefined) return countIndexes(succeeded) >= succeededCount;
    const required = parseIntervals(succeededIndexes, completions);
    const reached = countCommon(required, succeeded);
    return required.length > 0 && (reached === countIndexes(required) || reached >= succeededCount);
  });
  return met < 0 ? undefined : `Matched rules at index ${met}`;
}
