import { RE2JS } from 're2js';
import { CelError, type CelResult } from '../values/value.ts';
import { fromGoSyntax, inGoSyntax } from './go-syntax.ts';
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

/** The maximum number of instructions of a pattern: compiling it takes about 30 ms. Go is limited only by memory. */
const MAX_PATTERN_SIZE = 10_000;

/** The maximum number of steps of one match: about 60 ms in the worst case. */
export const MAX_MATCH_STEPS = 2_000_000;

/** The maximum number of cached patterns, and of their characters. */
const CACHED = { patterns: 1000, characters: 4_000_000 };

/** Compiled patterns by text, bounded because objects supply patterns. */
class PatternCache {
  readonly #patterns = new Map<string, Pattern>();
  #characters = 0;

  get(text: string): Pattern {
    const known = this.#patterns.get(text);
    if (known !== undefined) return known;
    const made = compile(text);
    this.#patterns.set(text, made);
    this.#characters += text.length;
    for (const oldest of this.#patterns.keys()) {
      if (this.#patterns.size <= CACHED.patterns && this.#characters <= CACHED.characters) break;
      this.#patterns.delete(oldest);
      this.#characters -= oldest.length;
    }
    return made;
  }
}

const cache = new PatternCache();

/** The number of instructions that compiling a pattern creates; 0 for one that is rejected before. */
export function compiledSize(text: string): number {
  const size = patternSize(text);
  return size > MAX_PATTERN_SIZE ? 0 : size;
}

function compile(text: string): Pattern {
  if (patternSize(text) > MAX_PATTERN_SIZE) {
    return { ok: false, message: 'error parsing regexp: expression too large' };
  }
  try {
    const regex = RE2JS.compile(fromGoSyntax(text));
    return { ok: true, regex, size: regex.programSize() };
  } catch (error) {
    if (!(error instanceof globalThis.Error)) throw error;
    return { ok: false, message: inGoSyntax(error.message, text) };
  }
}

/** A pattern in RE2's syntax; matching takes time linear in the text. */
export function patternOf(text: string): Pattern {
  return cache.get(text);
}

/** The maximum number of steps for matching a text. */
export function matchSteps(text: string, { size }: Pattern & { readonly ok: true }): number {
  return text.length * size;
}

/** The error if a match could take too long; undefined otherwise. */
export function overlongMatch(text: string, pattern: Pattern & { readonly ok: true }): CelError | undefined {
  if (matchSteps(text, pattern) <= MAX_MATCH_STEPS) return undefined;
  return new CelError(`a text of ${text.length} characters is too long for a pattern of ${pattern.size} instructions`);
}

export function matchesPattern(text: string, pattern: string): CelResult {
  const compiled = patternOf(pattern);
  if (!compiled.ok) return new CelError(compiled.message);
  return overlongMatch(text, compiled) ?? compiled.regex.matcher(text).find();
}
