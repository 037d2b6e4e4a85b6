/**
 * An upper bound of the instructions of a compiled RE2 pattern, from one pass over its characters: a character counts as one, a repetition
 * as its number of copies. Infinity for patterns that RE2 rejects anyway, such as repetitions above RE2's own limit.
 */
export function patternSize(pattern: string): number {
  return new Sizes(pattern).whole();
}

/** The work for the hundreds of ranges of a Unicode class. They are built once; repeated, the class is one instruction a copy. */
const UNICODE_CLASS = 20;

/** `{2}`, `{2,}`, `{2,5}` */
const REPEAT = /\{(\d{1,5})(?:(,)(\d{0,5}))?\}/y;

class Sizes {
  readonly #pattern: string;
  #at = 0;
  /** Sizes of the open groups, the innermost last. */
  readonly #groups: number[] = [0];
  #classes = 0;
  /** Where the last `[:name:]` ends. Beyond it, no end is searched for: each of many searches would go to the end of the pattern. */
  readonly #lastNameEnd: number;
  /** Size of the part that a following repetition repeats. */
  #last = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
    this.#lastNameEnd = pattern.lastIndexOf(':]');
  }

  whole(): number {
    while (this.#at < this.#pattern.length) this.#step(this.#pattern.charAt(this.#at));
    // RE2 rejects an unclosed group.
    return this.#groups.reduce((sum, size) => sum + size, 0) + this.#classes * UNICODE_CLASS + 4;
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

  /** Adds a part with this size and skips its characters. */
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
    while (at < this.#pattern.length && this.#pattern[at] !== ']') {
      if (this.#pattern[at] === '\\') {
        at++;
        if (isUnicodeClass(this.#pattern[at])) this.#classes++;
      }
      if (at <= this.#lastNameEnd && this.#pattern.startsWith('[:', at)) at = this.#pattern.indexOf(':]', at) + 1;
      at++;
    }
    this.#add(1, at + 1 - this.#at);
  }

  /** `\\Q...\\E` is literal; any other escape is a character or a class. */
  #escape(): void {
    const escaped = this.#pattern[this.#at + 1];
    if (isUnicodeClass(escaped)) this.#classes++;
    if (isUnicodeClass(escaped) || escaped === 'x') {
      // `\p{Greek}`, `\x{10ffff}`. RE2 rejects an unclosed brace.
      const end = this.#pattern[this.#at + 2] === '{' ? this.#pattern.indexOf('}', this.#at) : this.#at + 1;
      return this.#add(1, (end < 0 ? this.#pattern.length : end + 1) - this.#at);
    }
    if (escaped !== 'Q') return this.#add(1, 2);
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
 * The allowance of all expressions and patterns of one object: tokens, parts of macro expansions (each counts as two tokens, as for a
 * single expression), and pattern instructions. Compiling all of it takes about 80 ms. The largest definition of Gateway API and Karpenter
 * has 6,100 tokens. Go's engine has no such limit, because compiling there does not block the server.
 */
const MAX_SIZE = 30_000;
/** The fixed part of each expression's size. */
const EXPRESSION = 5;

/** Sums up the sizes of an object's expressions and patterns, so that they are rejected before compiling them takes long. */
export class Allowance {
  #left = MAX_SIZE;
  readonly #patterns = new Set<string>();

  /** Reserves room for an expression. Returns why it is rejected; undefined while there is room. */
  takeExpression(tokens: number, parts: number): string | undefined {
    return this.#take(Math.max(tokens, 2 * parts) + EXPRESSION);
  }

  /** Reserves room for a pattern. Returns why it is rejected. The same text counts once because it is compiled once. */
  takePattern(text: string): string | undefined {
    if (this.#patterns.has(text)) return undefined;
    this.#patterns.add(text);
    return this.#take(patternSize(text));
  }

  #take(size: number): string | undefined {
    this.#left = Math.max(-1, this.#left - size);
    return this.refusal;
  }

  /** Why all further expressions are rejected; undefined while there is room. */
  get refusal(): string | undefined {
    if (this.#left >= 0) return undefined;
    return `expressions and patterns of the object have more than ${MAX_SIZE} parts together`;
  }
}
