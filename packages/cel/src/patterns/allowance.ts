import { patternSize } from './pattern-size.ts';

/**
 * What all expressions and patterns of one object may have together: tokens, parts of what macros expand to (each counts for two tokens,
 * as it does for one expression), and instructions of patterns. Compiling all of it takes some 80 ms. Of Gateway API's
 * and Karpenter's definitions the largest has 6,100 tokens. Go's engine has no such bound: it does not hold up a server while it compiles.
 */
const MAX_SIZE = 30_000;
/** What each expression counts for in addition to its size. */
const EXPRESSION = 5;

/** Counts what the expressions and patterns of one object are to be compiled from, so that they are refused before that takes long. */
export class Allowance {
  #left = MAX_SIZE;
  readonly #patterns = new Set<string>();

  /** Why an expression is refused; undefined while there is room. */
  takeExpression(tokens: number, parts: number): string | undefined {
    return this.#take(Math.max(tokens, 2 * parts) + EXPRESSION);
  }

  /** Why a pattern is refused. The same text counts once: it is compiled once. */
  takePattern(text: string): string | undefined {
    if (this.#patterns.has(text)) return undefined;
    this.#patterns.add(text);
    return this.#take(patternSize(text));
  }

  #take(size: number): string | undefined {
    this.#left = Math.max(-1, this.#left - size);
    return this.refusal;
  }

  /** Why whatever comes next is refused; undefined while nothing was. */
  get refusal(): string | undefined {
    if (this.#left >= 0) return undefined;
    return `expressions and patterns of the object have more than ${MAX_SIZE} parts together`;
  }
}
