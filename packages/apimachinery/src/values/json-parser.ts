import { setMember } from '@gantry/objects';

/** A text that is not JSON, in the words of Go's decoder. */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError';
}

/** A number whose exact text matters: fractions, exponents, and whole numbers that a double cannot hold. */
export class NumberLiteral {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What `parseJsonText` gives: JSON, with `NumberLiteral` for every number that is not a safe whole number written plainly. */
export type Parsed = null | boolean | number | string | NumberLiteral | Parsed[] | ParsedObject;
export interface ParsedObject {
  [key: string]: Parsed;
}

export interface ParseResult {
  readonly value: Parsed;
  /** Paths of keys that came more than once, `spec.containers[0].name`, in order of the repetition. The last value counts. */
  readonly duplicates: readonly string[];
}

/** Deeper nesting is refused, long before the stack ends. */
export const MAX_DEPTH = 1000;

/** Reads one JSON text strictly. Throws JsonSyntaxError. */
export function parseJsonText(text: string): ParseResult {
  return new JsonParser(text).parse();
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};
const PLAIN_INTEGER = /^-?(0|[1-9][0-9]{0,15})$/;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

class JsonParser {
  readonly #text: string;
  readonly #duplicates: string[] = [];
  readonly #path: (string | number)[] = [];
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
      if (Object.hasOwn(out, key)) this.#duplicates.push(formatPath(this.#path));
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
    for (;;) {
      const code = text.charCodeAt(this.#at);
      if (code === 0x22) return text.slice(start, this.#at++);
      if (code === 0x5c) break;
      if (Number.isNaN(code) || code < 0x20) this.#fail('in string literal');
      this.#at++;
    }
    return this.#escaped(start);
  }

  #escaped(start: number): string {
    const text = this.#text;
    let out = text.slice(start, this.#at);
    for (;;) {
      const character = text[this.#at];
      if (character === undefined || character < ' ') this.#fail('in string literal');
      this.#at++;
      if (character === '"') return out.isWellFormed() ? out : out.toWellFormed();
      if (character !== '\\') {
        out += character;
        continue;
      }
      const escape = text[this.#at];
      if (escape === 'u') {
        out += this.#unicode();
      } else {
        const plain = escape === undefined ? undefined : ESCAPES[escape];
        if (plain === undefined) this.#fail('in string escape code');
        out += plain;
        this.#at++;
      }
    }
  }

  #unicode(): string {
    for (let digit = 0; digit < 4; digit++) {
      this.#at++;
      if (!/^[0-9a-fA-F]$/.test(this.#text[this.#at] ?? '')) this.#fail('in \\u hexadecimal character escape');
    }
    this.#at++;
    return String.fromCharCode(Number.parseInt(this.#text.slice(this.#at - 4, this.#at), 16));
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

/** `metadata.name`, `spec.containers[0].name`. */
export function formatPath(path: readonly (string | number)[]): string {
  let out = '';
  for (const step of path) out += typeof step === 'number' ? `[${step}]` : out === '' ? step : `.${step}`;
  return out;
}
