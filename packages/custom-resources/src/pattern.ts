import { patternOf } from '@gantry/cel';

/** Whether a text has what a schema's pattern asks for; false for a pattern that is none. Takes linear time. */
export function matchesPattern(text: string, pattern: string): boolean {
  const compiled = patternOf(pattern);
  return compiled.ok && compiled.regex.matcher(text).find();
}

/** Why a pattern is none, in the words of RE2; undefined for one that is. */
export function patternError(pattern: string): string | undefined {
  const compiled = patternOf(pattern);
  return compiled.ok ? undefined : compiled.message;
}
