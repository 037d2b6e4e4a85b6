import { type JsonSchema, itemsOf, valuesOf } from '@gantry/apimachinery';
import { type Allowance, MAX_MATCH_STEPS, matchSteps, patternOf } from '@gantry/cel';

/** The most steps of all matches of one object: they take at most some 100 ms, in one turn of the event loop. Most patterns take far fewer. */
const MAX_OBJECT_STEPS = 2 * MAX_MATCH_STEPS;

/** Whether a text has what a schema's pattern asks for; false for a pattern that is none. */
export function matchesPattern(text: string, pattern: string): boolean {
  const compiled = patternOf(pattern);
  return compiled.ok && compiled.regex.matcher(text).find();
}

/** Adds up the steps that the patterns of one object may take. */
export class MatchBudget {
  #spent = 0;

  /** Whether the text may be matched: alone, and with all that were matched before. */
  spend(text: string, pattern: string): boolean {
    const compiled = patternOf(pattern);
    const steps = compiled.ok ? matchSteps(text, compiled) : 0;
    this.#spent += steps;
    return steps <= MAX_MATCH_STEPS && this.#spent <= MAX_OBJECT_STEPS;
  }
}

/** Why a pattern is none, in the words of RE2; undefined for one that is. */
export function patternError(pattern: string): string | undefined {
  const compiled = patternOf(pattern);
  return compiled.ok ? undefined : compiled.message;
}

/** Why the patterns of a schema are too many; undefined while there is room for them. None of them is compiled. */
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
