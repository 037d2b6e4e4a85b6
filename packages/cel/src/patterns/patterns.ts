import { RE2JS } from 're2js';
import { CelError, type CelResult } from '../values/value.ts';
import { patternSize } from './pattern-size.ts';

/** A compiled pattern, or Go's message about its syntax. */
export type Pattern =
  | {
      readonly ok: true;
      readonly regex: RE2JS;
      /** Instructions of the compiled pattern: at worst, each character of a text is compared with all of them. */
      readonly size: number;
    }
  | { readonly ok: false; readonly message: string };

/** Instructions of the largest pattern: compiling it takes some 30 ms. Go's bound is that of its memory. */
const MAX_PATTERN_SIZE = 10_000;

/** The most steps of one match: some 60 ms if each of them is taken. */
export const MAX_MATCH_STEPS = 2_000_000;

/** Compiled patterns by text, bounded because objects supply patterns. */
class PatternCache {
  readonly #patterns = new Map<string, Pattern>();

  get(text: string): Pattern {
    const known = this.#patterns.get(text);
    if (known !== undefined) return known;
    const made = compile(text);
    if (this.#patterns.size >= 1_000) this.#patterns.delete(this.#patterns.keys().next().value ?? '');
    this.#patterns.set(text, made);
    return made;
  }
}

const cache = new PatternCache();

/** Instructions that compiling a pattern makes; 0 for one that is refused before. */
export function compiledSize(text: string): number {
  const size = patternSize(text);
  return size > MAX_PATTERN_SIZE ? 0 : size;
}

function compile(text: string): Pattern {
  if (patternSize(text) > MAX_PATTERN_SIZE) {
    return { ok: false, message: 'error parsing regexp: expression too large' };
  }
  try {
    const regex = RE2JS.compile(text);
    return { ok: true, regex, size: regex.programSize() };
  } catch (error) {
    if (!(error instanceof globalThis.Error)) throw error;
    return { ok: false, message: error.message };
  }
}

/** A pattern in RE2's syntax, matched in time linear to the text. */
export function patternOf(text: string): Pattern {
  return cache.get(text);
}

/** The most steps that matching a text takes. */
export function matchSteps(text: string, { size }: Pattern & { readonly ok: true }): number {
  return text.length * size;
}

/** Why a match is refused: it could take too long. */
export function overlongMatch(text: string, pattern: Pattern & { readonly ok: true }): CelError | undefined {
  if (matchSteps(text, pattern) <= MAX_MATCH_STEPS) return undefined;
  return new CelError(`a text of ${text.length} characters is too long for a pattern of ${pattern.size} instructions`);
}

export function matchesPattern(text: string, pattern: string): CelResult {
  const compiled = patternOf(pattern);
  if (!compiled.ok) return new CelError(compiled.message);
  return overlongMatch(text, compiled) ?? compiled.regex.matcher(text).find();
}
