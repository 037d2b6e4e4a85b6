import { StatusError } from '@gantry/objects';
import { MAX_VALUES } from '../values/document-limits.ts';
import { closingQuote, parsedString } from '../values/json-parser.ts';
import { BlockLines, type Chomping, YamlSyntaxError } from './yaml-scalar.ts';

const TAB = 0x09;
const LF = 0x0a;
const SPACE = 0x20;
const HASH = 0x23;
const COLON = 0x3a;

/** Multi-line scalars are joined line by line, so the number of lines is limited like the number of values. */
function requireFewLines(text: string): void {
  let lines = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++;
  if (lines > MAX_VALUES)
    throw new StatusError('RequestEntityTooLarge', `Request entity too large: limit is ${MAX_VALUES} lines of YAML`);
}

function tooManyParts(): StatusError {
  const limit = `limit is ${MAX_VALUES} escapes in a scalar of YAML`;
  return new StatusError('RequestEntityTooLarge', `Request entity too large: ${limit}`);
}

/** Whether a character code separates tokens: a blank, a break, or the end of the text. */
export function isSpace(code: number): boolean {
  return code === SPACE || code === LF || code === TAB || Number.isNaN(code);
}

/** `,`, `[`, `]`, `{` and `}`, which end a scalar within brackets. */
function isFlowIndicator(code: number): boolean {
  return code === 0x2c || code === 0x5b || code === 0x5d || code === 0x7b || code === 0x7d;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '0': '\0',
  a: '\x07',
  b: '\b',
  t: '\t',
  '\t': '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  e: '\x1b',
  ' ': ' ',
  '"': '"',
  '/': '/',
  '\\': '\\',
  N: '\x85',
  _: '\xa0',
  L: '\u2028',
  P: '\u2029',
};
const HEX_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/** Characters that YAML forbids (https://yaml.org/spec/1.1, printable characters), except a leading byte order mark. */

const UNPRINTABLE = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]/;

/**
 * A cursor in a YAML text that moves forward. Reads blanks, comments and the five kinds of scalars as libyaml does, and each character a
 * bounded number of times.
 */
export class YamlText {
  readonly #text: string;
  #at = 0;
  #lineStart = 0;
  #counted = { at: 0, line: 1 };

  constructor(text: string) {
    const unmarked = text.startsWith('\ufeff') ? text.slice(1) : text;
    this.#text = unmarked.includes('\r') ? unmarked.replace(/\r\n?/g, '\n') : unmarked;
    if (UNPRINTABLE.test(this.#text)) throw new YamlSyntaxError('yaml: control characters are not allowed');
    requireFewLines(this.#text);
  }

  get at(): number {
    return this.#at;
  }

  get column(): number {
    return this.#at - this.#lineStart;
  }

  /** Start position of the current line; identifies the line. */
  get lineStart(): number {
    return this.#lineStart;
  }

  /** The current character; '' at the end. */
  get character(): string {
    return this.#text.charAt(this.#at);
  }

  /** Whether the document ends here. */
  get ended(): boolean {
    return this.#at >= this.#text.length || this.atMarker;
  }

  /** Whether a line with `---` or `...` starts here. */
  get atMarker(): boolean {
    if (this.column !== 0) return false;
    const isMarker = this.#text.startsWith('---', this.#at) || this.#text.startsWith('...', this.#at);
    return isMarker && isSpace(this.#text.charCodeAt(this.#at + 3));
  }

  move(characters: number): void {
    this.#at += characters;
  }

  skipLine(): void {
    const end = this.#text.indexOf('\n', this.#at);
    this.#at = end < 0 ? this.#text.length : end;
  }

  /** Whether the current character is this one, followed by a blank or the end. */
  isIndicator(character: string): boolean {
    return this.#text[this.#at] === character && isSpace(this.#text.charCodeAt(this.#at + 1));
  }

  /** Whether a colon that ends a key follows on this line; if so, moves to it. With `adjacent`, no blank is needed after it. */
  atColon(adjacent: 'adjacent' | 'spaced', flow: 'flow' | 'block'): boolean {
    let at = this.#at;
    while (this.#text.charCodeAt(at) === SPACE || this.#text.charCodeAt(at) === TAB) at++;
    if (this.#text.charCodeAt(at) !== COLON) return false;
    const next = this.#text.charCodeAt(at + 1);
    if (adjacent === 'spaced' && !isSpace(next) && !(flow === 'flow' && isFlowIndicator(next))) return false;
    this.#at = at;
    return true;
  }

  /** Skips blanks, line breaks and comments. Returns whether there was a line break. Tabs do not indent blocks. */
  skip(context: 'block' | 'flow'): boolean {
    const text = this.#text;
    let crossed = false;
    let tab = false;
    for (;;) {
      const code = text.charCodeAt(this.#at);
      if (code === SPACE) this.#at++;
      else if (code === TAB) {
        tab = true;
        this.#at++;
      } else if (code === LF) {
        this.#break();
        crossed = true;
        tab = false;
      } else if (code === HASH) this.skipLine();
      else break;
    }
    if (context === 'flow' && this.atMarker) this.fail('found unexpected document indicator');
    if (context === 'block' && crossed && tab && this.#at < text.length)
      this.fail('found a tab character that violates indentation');
    return crossed;
  }

  /** Reads the name of an anchor or an alias. */
  name(): string {
    const found = this.match(/[0-9A-Za-z_-]+/y);
    if (found === '') this.fail('did not find expected alphabetic or numeric character');
    return found;
  }

  /** Reads what a sticky pattern matches here; '' when nothing matches. */
  match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }

  /** Reads a plain scalar. Its further lines start at column `indent` or later; within brackets, at any column. */
  plain(indent: number, context: 'block' | 'flow'): string {
    const first = this.#plainLine(context);
    if (first === '') this.fail('did not find expected node content');
    if (this.#text.charCodeAt(this.#skippedBlanks()) !== LF) return first;
    const pieces = [first];
    for (;;) {
      const [at, lineStart] = [this.#at, this.#lineStart];
      const breaks = this.#skipBreaks();
      if (
        context === 'block' &&
        !this.ended &&
        this.#text.slice(this.#lineStart, this.#lineStart + indent).startsWith('\t')
      )
        this.fail('found a tab character that violates indentation');
      const continues =
        breaks > 0 && !this.ended && this.character !== '#' && (context === 'flow' || this.column >= indent);
      const line = continues ? this.#plainLine(context) : '';
      if (line === '') {
        [this.#at, this.#lineStart] = [at, lineStart];
        return pieces.length === 1 ? first : pieces.join('');
      }
      pieces.push(breaks === 1 ? ' ' : '\n'.repeat(breaks - 1), line);
    }
  }

  singleQuoted(): string {
    const start = this.#at + 1;
    let end = this.#text.indexOf("'", start);
    for (let quotes = 0; end >= 0 && this.#text[end + 1] === "'"; quotes++) {
      if (quotes > MAX_VALUES) throw tooManyParts();
      end = this.#text.indexOf("'", end + 2);
    }
    const raw = end < 0 ? undefined : this.#text.slice(start, end);
    if (raw === undefined || raw.includes('\n')) return this.#foldedSingleQuoted();
    this.#at = end + 1;
    return raw.replaceAll("''", "'");
  }

  #foldedSingleQuoted(): string {
    const pieces: string[] = [];
    this.#at++;
    for (;;) {
      this.#quotedPiece(/[^'\n]+/y, pieces);
      if (this.#text[this.#at] === "'") {
        if (this.#text[this.#at + 1] !== "'") break;
        pieces.push("'");
        this.#at += 2;
      } else this.#fold(pieces);
    }
    this.#at++;
    return pieces.length === 1 ? (pieces[0] ?? '') : pieces.join('');
  }

  doubleQuoted(): string {
    const end = closingQuote(this.#text, this.#at + 1);
    const raw = end === undefined ? undefined : this.#text.slice(this.#at, end + 1);
    // Most are JSON strings, which the runtime reads many times faster. YAML does not allow escaped surrogate pairs.
    const value = raw === undefined || /\\u[dD][89a-fA-F]/.test(raw) ? undefined : parsedString(raw);
    if (end === undefined || value === undefined) return this.#foldedQuoted();
    this.#at = end + 1;
    return value;
  }

  #foldedQuoted(): string {
    const pieces: string[] = [];
    this.#at++;
    for (;;) {
      this.#quotedPiece(/[^"\\\n]+/y, pieces);
      const character = this.#text[this.#at];
      if (character === '"') break;
      if (pieces.length > MAX_VALUES) throw tooManyParts();
      if (character !== '\\') this.#fold(pieces);
      else if (this.#text[this.#at + 1] === '\n') {
        this.#at++;
        this.#break();
        this.#skipBreaks((text) => pieces.push(text));
      } else pieces.push(this.#escape());
    }
    this.#at++;
    return pieces.length === 1 ? (pieces[0] ?? '') : pieces.join('');
  }

  /** Reads a block scalar after `|` or `>`, in a block at column `parent`. */
  block(parent: number): string {
    const isLiteral = this.character === '|';
    this.#at++;
    const { chomping, offset } = this.#blockHeader();
    const scalar = new BlockLines(isLiteral);
    let indent = offset === 0 ? 0 : Math.max(parent, 0) + offset;
    const breaks = (): number => {
      const found = this.#blockBreaks(indent);
      if (indent === 0) indent = Math.max(found.deepest, parent + 1, 1);
      return found.breaks;
    };
    scalar.breaks = breaks();
    while (this.column === indent && this.#at < this.#text.length) {
      const start = this.#at;
      this.skipLine();
      scalar.add(this.#text.slice(start, this.#at));
      if (this.#at >= this.#text.length) break;
      this.#break();
      scalar.ended = true;
      scalar.breaks = breaks();
    }
    return scalar.text(chomping);
  }

  fail(why: string, at = this.#at): never {
    throw new YamlSyntaxError(`yaml: line ${this.lineAt(at)}: ${why}`);
  }

  /** The line number of a position. Fast if positions are passed in ascending order. */
  lineAt(at: number): number {
    if (at < this.#counted.at) this.#counted = { at: 0, line: 1 };
    let { at: from, line } = this.#counted;
    for (;;) {
      const next = this.#text.indexOf('\n', from);
      if (next < 0 || next >= at) break;
      from = next + 1;
      line++;
    }
    this.#counted = { at: from, line };
    return line;
  }

  /** Skips the line break here. */
  #break(): void {
    this.#at++;
    this.#lineStart = this.#at;
  }

  #skippedBlanks(): number {
    let at = this.#at;
    while (this.#text.charCodeAt(at) === SPACE || this.#text.charCodeAt(at) === TAB) at++;
    return at;
  }

  /** Skips blanks and line breaks; returns the number of breaks. Calls `each` with the blanks after each break. */
  #skipBreaks(each?: (text: string) => void): number {
    let breaks = 0;
    for (;;) {
      this.#at = this.#skippedBlanks();
      if (this.#text.charCodeAt(this.#at) !== LF) return breaks;
      this.#break();
      each?.('\n');
      breaks++;
    }
  }

  /** The part of a plain scalar on this line, without trailing blanks. */
  #plainLine(context: 'block' | 'flow'): string {
    const text = this.#text;
    const start = this.#at;
    let end = start;
    for (let at = start; ; at++) {
      const code = text.charCodeAt(at);
      if (code === SPACE || code === TAB) continue;
      if (code === LF || Number.isNaN(code)) break;
      if (code === COLON) {
        const next = text.charCodeAt(at + 1);
        // Blanks, breaks, and NaN at the end.
        if (!(next > SPACE) || (context === 'flow' && isFlowIndicator(next))) break;
      } else if (code === HASH) {
        if (at > end) break;
      } else if (context === 'flow' && isFlowIndicator(code)) break;
      end = at + 1;
    }
    this.#at = end;
    return text.slice(start, end);
  }

  /** Reads the part of a quoted scalar on this line that needs no unescaping. Blanks before a line break are dropped. */
  #quotedPiece(pattern: RegExp, pieces: string[]): void {
    const piece = this.match(pattern);
    if (piece === '') return;
    pieces.push(this.#text.charCodeAt(this.#at) === LF ? withoutBlanksBehind(piece) : piece);
  }

  /** Folds line breaks in a quoted scalar: one break becomes a blank; of several, the first is dropped. */
  #fold(pieces: string[]): void {
    if (this.#at >= this.#text.length) this.fail('found unexpected end of stream');
    const breaks = this.#skipBreaks();
    if (this.atMarker) this.fail('found unexpected document indicator');
    pieces.push(breaks === 1 ? ' ' : '\n'.repeat(breaks - 1));
  }

  #escape(): string {
    const letter = this.#text.charAt(this.#at + 1);
    const plain = ESCAPES[letter];
    if (plain !== undefined) {
      this.#at += 2;
      return plain;
    }
    const digits = HEX_DIGITS[letter];
    if (digits === undefined) this.fail('found unknown escape character');
    const hex = this.#text.slice(this.#at + 2, this.#at + 2 + digits);
    if (hex.length < digits || !/^[0-9a-fA-F]+$/.test(hex)) this.fail('did not find expected hexdecimal number');
    const code = Number.parseInt(hex, 16);
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) this.fail('found invalid Unicode character escape code');
    this.#at += 2 + digits;
    return String.fromCodePoint(code);
  }

  #blockHeader(): { readonly chomping: Chomping; readonly offset: number } {
    const header = this.match(/[-+]?[1-9]?[-+]?/y);
    const marks = header.replace(/[1-9]/, '');
    const offset = Number(/[1-9]/.exec(header)?.[0] ?? 0);
    this.#at = this.#skippedBlanks();
    if (this.character === '#') this.skipLine();
    if (marks.length > 1 || !isSpace(this.#text.charCodeAt(this.#at))) {
      this.fail('did not find expected comment or line break');
    }
    if (this.#at < this.#text.length) this.#break();
    return { chomping: marks as Chomping, offset };
  }

  /** Skips empty lines and the indentation after them. `indent` is 0 while unknown. */
  #blockBreaks(indent: number): { readonly breaks: number; readonly deepest: number } {
    let breaks = 0;
    let deepest = 0;
    for (;;) {
      while ((indent === 0 || this.column < indent) && this.#text.charCodeAt(this.#at) === SPACE) this.#at++;
      deepest = Math.max(deepest, this.column);
      const code = this.#text.charCodeAt(this.#at);
      if (code === TAB && (indent === 0 || this.column < indent))
        this.fail('found a tab character where an indentation space is expected');
      if (code !== LF) return { breaks, deepest };
      this.#break();
      breaks++;
    }
  }
}

function withoutBlanksBehind(text: string): string {
  let end = text.length;
  while (end > 0 && (text.charCodeAt(end - 1) === SPACE || text.charCodeAt(end - 1) === TAB)) end--;
  return text.slice(0, end);
}
