import { setMember } from '@gantry/objects';
import { MAX_REPORTED, ValueCount } from './document-limits.ts';
import { exactInteger } from './exact-number.ts';

/** The text is not valid JSON; the message is that of Go's decoder. */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError';
}

/** A number whose exact text matters: fractions, exponents, and integers that a double cannot hold. */
export class NumberLiteral {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The result of `parseJsonText`: JSON, with `NumberLiteral` for every number that is not a safe integer in plain form. */
export type Parsed = null | boolean | number | string | NumberLiteral | Parsed[] | ParsedObject;
export interface ParsedObject {
  [key: string]: Parsed;
}

export interface ParseResult {
  readonly value: Parsed;
  /** Paths of duplicate keys, `spec.containers[0].name`, in the order of repetition; the first hundred. The last value counts. */
  readonly duplicates: readonly string[];
}

/** The maximum nesting depth, far below the stack limit. */
export const MAX_DEPTH = 1000;

/** Parses one JSON text strictly. Throws JsonSyntaxError, or StatusError RequestEntityTooLarge for more values than a request may have. */
export function parseJsonText(text: string): ParseResult {
  return new JsonParser(text).parse();
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

const PLAIN_CHARACTERS = /[^"\\\x00-\x1f]*/y;
const PLAIN_INTEGER = /^-?(0|[1-9][0-9]{0,15})$/;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

class JsonParser {
  readonly #text: string;
  readonly #duplicates: string[] = [];
  readonly #path: (string | number)[] = [];
  readonly #count = new ValueCount();
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): ParseResult {
    const value = this.#value();
    this.#space();
    if (this.#at < this.#text.length) this.#fail('after top-level value');
    return { value, duplicates: this.#duplicates };
  }

  #value(): Parsed {
    this.#count.add(1);
    this.#space();
    switch (this.#text.charCodeAt(this.#at)) {
      case 0x7b:
        return this.#object();
      case 0x5b:
        return this.#array();
      case 0x22:
        return this.#string();
      case 0x74:
        return this.#literal('true', true);
      case 0x66:
        return this.#literal('false', false);
      case 0x6e:
        return this.#literal('null', null);
      default:
        return this.#number();
    }
  }

  #object(): ParsedObject {
    const out: ParsedObject = {};
    this.#enter();
    this.#at++;
    this.#space();
    if (this.#text[this.#at] === '}') {
      this.#at++;
      this.#path.pop();
      return out;
    }
    for (;;) {
      this.#space();
      if (this.#text[this.#at] !== '"') this.#fail('looking for beginning of object key string');
      const key = this.#string();
      this.#space();
      if (this.#text[this.#at] !== ':') this.#fail('after object key');
      this.#at++;
      this.#path[this.#path.length - 1] = key;
      this.#count.add(1);
      if (Object.hasOwn(out, key) && this.#duplicates.length < MAX_REPORTED)
        this.#duplicates.push(formatPath(this.#path));
      const value = this.#value();
      setMember(out, key, value);
      this.#space();
      const next = this.#text[this.#at];
      if (next === '}') break;
      if (next !== ',') this.#fail('after object key:value pair');
      this.#at++;
    }
    this.#at++;
    this.#path.pop();
    return out;
  }

  #array(): Parsed[] {
    const out: Parsed[] = [];
    this.#enter();
    this.#at++;
    this.#space();
    if (this.#text[this.#at] === ']') {
      this.#at++;
      this.#path.pop();
      return out;
    }
    for (;;) {
      this.#path[this.#path.length - 1] = out.length;
      out.push(this.#value());
      this.#space();
      const next = this.#text[this.#at];
      if (next === ']') break;
      if (next !== ',') this.#fail('after array element');
      this.#at++;
    }
    this.#at++;
    this.#path.pop();
    return out;
  }

  #enter(): void {
    if (this.#path.length >= MAX_DEPTH) throw new JsonSyntaxError('exceeded max depth');
    this.#path.push('');
  }

  #string(): string {
    const text = this.#text;
    const start = ++this.#at;
    const end = this.#plainEnd(start);
    const code = text.charCodeAt(end);
    this.#at = end;
    if (code === QUOTE) {
      this.#at++;
      return text.slice(start, end);
    }
    return this.#escaped(start);
  }

  /** The end of the characters that need no unescaping. */
  #plainEnd(start: number): number {
    const text = this.#text;
    // Most strings are short: calling the pattern costs more than checking some characters.
    const near = start + 32;
    for (let at = start; at < near; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE || code === BACKSLASH || code < 0x20 || Number.isNaN(code)) return at;
    }
    PLAIN_CHARACTERS.lastIndex = near;
    return near + (PLAIN_CHARACTERS.exec(text)?.[0].length ?? 0);
  }

  /** A string with escapes, parsed by the runtime. If that fails, it is parsed again to get Go's message. */
  #escaped(start: number): string {
    const end = closingQuote(this.#text, this.#at);
    const value = end === undefined ? undefined : parsedString(this.#text.slice(start - 1, end + 1));
    if (end === undefined || value === undefined) return this.#misspelt(start);
    this.#at = end + 1;
    return value.isWellFormed() ? value : value.toWellFormed();
  }

  /** Throws Go's error for an invalid string. */
  #misspelt(start: number): never {
    this.#at = this.#plainEnd(start);
    while (this.#text.charCodeAt(this.#at) === BACKSLASH) {
      this.#at++;
      this.#skipEscape();
      this.#at = this.#plainEnd(this.#at);
    }
    this.#fail('in string literal');
  }

  #skipEscape(): void {
    const escape = this.#text.charAt(this.#at);
    if (!'"\\/bfnrtu'.includes(escape) || escape === '') this.#fail('in string escape code');
    this.#at++;
    if (escape !== 'u') return;
    for (let digit = 0; digit < 4; digit++) {
      if (!isHexDigit(this.#text.charCodeAt(this.#at))) this.#fail('in \\u hexadecimal character escape');
      this.#at++;
    }
  }

  #literal<T extends Parsed>(word: string, value: T): T {
    for (let index = 1; index < word.length; index++) {
      this.#at++;
      if (this.#text[this.#at] !== word[index])
        this.#fail(`in literal ${word} (expecting ${quoteCharacter(word[index] ?? '')})`);
    }
    this.#at++;
    return value;
  }

  #number(): Parsed {
    NUMBER.lastIndex = this.#at;
    const text = NUMBER.exec(this.#text)?.[0];
    if (text === undefined) {
      if (this.#text[this.#at] !== '-') this.#fail('looking for beginning of value');
      this.#at++;
      this.#fail('in numeric literal');
    }
    this.#at += text.length;
    const next = this.#text[this.#at];
    if (next === '.' || ((next === 'e' || next === 'E') && !/[eE]/.test(text))) {
      this.#at++;
      this.#fail(next === '.' ? 'after decimal point in numeric literal' : 'in exponent of numeric literal');
    }
    if (PLAIN_INTEGER.test(text)) {
      const value = Number(text);
      if (Number.isSafeInteger(value)) return value;
    }
    return new NumberLiteral(text);
  }

  #space(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#at++;
    }
  }

  #fail(where: string): never {
    if (this.#at >= this.#text.length) throw new JsonSyntaxError('unexpected end of JSON input');
    const character = String.fromCodePoint(this.#text.codePointAt(this.#at) ?? 0);
    throw new JsonSyntaxError(`invalid character ${quoteCharacter(character)} ${where}`);
  }
}

function quoteCharacter(character: string): string {
  if (character === "'") return "'\\''";
  if (character === '"') return "'\"'";
  return `'${JSON.stringify(character).slice(1, -1)}'`;
}

/** The end of the string that continues at `from`; undefined if it is unterminated or invalid. */
export function closingQuote(text: string, from: number): number | undefined {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) return at;
    else if (code < 0x20) return undefined;
  }
  return undefined;
}

/** The value of a JSON string, given with its quotes; undefined for an invalid one. */
export function parsedString(text: string): string | undefined {
  try {
    return JSON.parse(text) as string;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isHexDigit(code: number): boolean {
  const letter = code | 0x20;
  return (code >= 0x30 && code <= 0x39) || (letter >= 0x61 && letter <= 0x66);
}

/** Longer steps and paths are cut: a hundred messages must not repeat a name of a megabyte. */
const MAX_STEP = 1000;
const MAX_PATH = 10_000;

/** `metadata.name`, `spec.containers[0].name`. */
export function formatPath(path: readonly (string | number)[]): string {
  let out = '';
  for (const step of path) {
    if (out.length > MAX_PATH) return `${out}...`;
    if (typeof step === 'number') out += `[${step}]`;
    else out += `${out === '' ? '' : '.'}${step.length > MAX_STEP ? `${step.slice(0, MAX_STEP)}...` : step}`;
  }
  return out;
}

/** Free-form JSON (RawExtension): 64-bit integers stay exact, nulls are kept. */
export function plainJson(parsed: Parsed): unknown {
  if (parsed instanceof NumberLiteral) {
    return (/^-?\d+$/.test(parsed.text) ? exactInteger(parsed.text) : undefined) ?? Number(parsed.text);
  }
  if (Array.isArray(parsed)) return parsed.map(plainJson);
  if (parsed === null || typeof parsed !== 'object') return parsed;
  const out: Record<string, unknown> = {};
  for (const key in parsed) setMember(out, key, plainJson(parsed[key] ?? null));
  return out;
}
