import { RE2JS } from 're2js';
import { CelError, type CelResult } from '../values/value.ts';

/** A compiled pattern, or Go's message about its syntax. */
export type Pattern = { readonly ok: true; readonly regex: RE2JS } | { readonly ok: false; readonly message: string };

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

function compile(text: string): Pattern {
  try {
    return { ok: true, regex: RE2JS.compile(text) };
  } catch (error) {
    if (!(error instanceof globalThis.Error)) throw error;
    return { ok: false, message: error.message };
  }
}

/** A pattern in RE2's syntax, matched in linear time. */
export function patternOf(text: string): Pattern {
  return cache.get(text);
}

export function matchesPattern(text: string, pattern: string): CelResult {
  const compiled = patternOf(pattern);
  return compiled.ok ? compiled.regex.matcher(text).find() : new CelError(compiled.message);
}
