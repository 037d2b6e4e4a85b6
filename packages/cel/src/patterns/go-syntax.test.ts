import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { patternOf } from './patterns.ts';

/**
 * Patterns and what Go 1.26.8's regexp says of them: '' or its error. First those of the CustomResourceDefinitions of 21 projects, with the
 * project, as of November 2026; then some of the syntax.
 */
const VERDICTS = readFileSync(new URL('go-verdicts.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as [project: string, pattern: string, verdict: string]);

describe("the syntax of patterns is Go's", () => {
  it.each(VERDICTS)('%s %s', (_project, pattern, verdict) => {
    const compiled = patternOf(pattern);
    expect(compiled.ok ? '' : compiled.message).toBe(verdict);
  });

  it.each([
    ['^\\p{lu}$', 'A', 'a'],
    ['^\\P{^uppercase letter}$', 'A', 'a'],
    ['^[^\\p{Greek}]$', 'a', 'α'],
    ['^\\p{digit}$', '٣', 'a'],
    ['^\\p{ASCII}$', 'a', 'ä'],
    ['^\\pl$', 'ä', '1'],
    ['^(?P<n>a)(?P<n>b)$', 'ab', 'a'],
    ['^\\p{old-italic}$', '\u{10300}', 'a'],
    ['^[x[:y]$', '[', 'z'],
    ['^[[:digit:][:y]$', ':', 'z'],
  ])('%s matches %s, not %s', (pattern, yes, no) => {
    const compiled = patternOf(pattern);
    expect(compiled.ok && [yes, no].map((text) => compiled.regex.matcher(text).find())).toEqual([true, false]);
  });
});
