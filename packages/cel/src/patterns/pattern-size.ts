/**
 * At least as many instructions as a pattern in RE2's syntax compiles to, by one look at each character: a character is one, a
 * repetition is as many copies as it asks for. Infinity for what RE2 refuses anyway, such as repetitions beyond its own bound.
 */
export function patternSize(pattern: string): number {
  return new Sizes(pattern).whole();
}

/** What a Unicode class counts for: it is one instruction, whose hundreds of ranges take time to put together. */
const UNICODE_CLASS = 20;

/** `{2}`, `{2,}`, `{2,5}` */
const REPEAT = /\{(\d{1,5})(?:(,)(\d{0,5}))?\}/y;

class Sizes {
  readonly #pattern: string;
  #at = 0;
  /** Sizes of the open groups, the innermost last. */
  readonly #groups: number[] = [0];
  /** Size of what a repetition that follows would repeat. */
  #last = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  whole(): number {
    while (this.#at < this.#pattern.length) this.#step(this.#pattern.charAt(this.#at));
    // A group that is not closed is refused by RE2.
    return this.#groups.reduce((sum, size) => sum + size, 0) + 4;
  }

  #step(char: string): void {
    if (char === '(') this.#open();
    else if (char === ')') this.#close();
    else if (char === '{') this.#repeat();
    else if (char === '*' || char === '+' || char === '?' || char === '|') this.#add(2, 1);
    else if (char === '[') this.#class();
    else if (char === '\\') this.#escape();
    else this.#add(1, 1);
  }

  /** Adds something of a size, and goes on behind its characters. */
  #add(size: number, characters: number): void {
    this.#at += characters;
    this.#last = size;
    this.#groups[this.#groups.length - 1] = (this.#groups.at(-1) ?? 0) + size;
  }

  #open(): void {
    this.#at++;
    this.#groups.push(3);
  }

  #close(): void {
    const size = this.#groups.length > 1 ? (this.#groups.pop() ?? 0) : 0;
    this.#add(size, 1);
  }

  #repeat(): void {
    REPEAT.lastIndex = this.#at;
    const found = REPEAT.exec(this.#pattern);
    if (found === null) return this.#add(1, 1);
    const [text, least = '', comma, most = ''] = found;
    const isOpen = comma !== undefined && most === '';
    const times = isOpen ? Number(least) + 1 : Math.max(Number(least), Number(most));
    const once = this.#last;
    // An optional copy has an instruction that skips it.
    const each = comma === undefined ? once : once + 1;
    this.#add(Math.max(0, each * times - once), text.length);
    this.#last = each * times;
  }

  /** `[^]a-z[:digit:]\\d]` is one instruction. */
  #class(): void {
    let at = this.#at + 1;
    if (this.#pattern[at] === '^') at++;
    if (this.#pattern[at] === ']') at++;
    let size = 1;
    while (at < this.#pattern.length && this.#pattern[at] !== ']') {
      if (this.#pattern[at] === '\\') {
        at++;
        size += isUnicodeClass(this.#pattern[at]) ? UNICODE_CLASS : 0;
      }
      if (this.#pattern.startsWith('[:', at)) at = Math.max(at, this.#pattern.indexOf(':]', at) + 1);
      at++;
    }
    this.#add(size, at + 1 - this.#at);
  }

  /** `\\Q...\\E` is literal; any other escape is a character or a class. */
  #escape(): void {
    if (this.#pattern[this.#at + 1] !== 'Q') {
      return this.#add(isUnicodeClass(this.#pattern[this.#at + 1]) ? UNICODE_CLASS : 1, 2);
    }
    const end = this.#pattern.indexOf('\\E', this.#at);
    const stop = end < 0 ? this.#pattern.length : end + 2;
    this.#add(stop - this.#at, stop - this.#at);
    this.#last = 1;
  }
}

/** `\\p{Greek}`, `\\PL` */
function isUnicodeClass(escaped: string | undefined): boolean {
  return escaped === 'p' || escaped === 'P';
}

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
