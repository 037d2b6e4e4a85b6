import { type JsonSchema, itemsOf, valuesOf } from '@gantry/apimachinery';
import { type Allowance, MAX_MATCH_STEPS, matchSteps, patternOf } from '@gantry/cel';

/**
 * The maximum number of steps for all matches of one object. They take at most about 100 ms in one turn of the event loop. Most patterns
 * need far fewer.
 */
const MAX_OBJECT_STEPS = 2 * MAX_MATCH_STEPS;

/** Whether a text matches a schema's pattern; false for an invalid pattern. */
export function matchesPattern(text: string, pattern: string): boolean {
  const compiled = patternOf(pattern);
  return compiled.ok && compiled.regex.matcher(text).find();
}

/** Sums up the matching steps of one object. */
export class MatchBudget {
  #spent = 0;

  /** Whether the text may be matched: its own steps and the sum of all steps are within the limits. */
  spend(text: string, pattern: string): boolean {
    const compiled = patternOf(pattern);
    const steps = compiled.ok ? matchSteps(text, compiled) : 0;
    this.#spent += steps;
    return steps <= MAX_MATCH_STEPS && this.#spent <= MAX_OBJECT_STEPS;
  }
}

/** RE2's error for an invalid pattern; undefined for a valid one. */
export function patternError(pattern: string): string | undefined {
  const compiled = patternOf(pattern);
  return compiled.ok ? undefined : compiled.message;
}

/** The error if a schema has too many patterns; undefined while there is room. Does not compile them. */
export function refusePatterns(schema: JsonSchema, allowance: Allowance): string | undefined {
  const { pattern = '', not, allOf = [], anyOf = [], oneOf = [], properties = {} } = schema;
  const refused = pattern === '' ? undefined : allowance.takePattern(pattern);
  if (refused !== undefined) return refused;
  for (const inner of [
    not,
    ...allOf,
    ...anyOf,
    ...oneOf,
    itemsOf(schema),
    valuesOf(schema),
    ...Object.values(properties),
  ]) {
    const found = inner === undefined ? undefined : refusePatterns(inner, allowance);
    if (found !== undefined) return found;
  }
  return undefined;
}
