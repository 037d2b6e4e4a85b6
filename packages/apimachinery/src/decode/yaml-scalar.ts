import { NumberLiteral, type Parsed } from '../values/json-parser.ts';

/** The text is not valid YAML. */
export class YamlSyntaxError extends Error {
  override readonly name = 'YamlSyntaxError';
}

/** The tag of a scalar's type, in short form. */
type ScalarTag = '!!null' | '!!bool' | '!!int' | '!!float' | '!!str';

interface Resolved {
  readonly tag: ScalarTag;
  readonly value: Parsed;
}

const words = (value: Parsed, ...texts: readonly string[]): [string, Parsed][] =>
  texts.flatMap((text) => [text, text[0]?.toUpperCase() + text.slice(1), text.toUpperCase()]).map((t) => [t, value]);

/** The words of YAML 1.1 that Go's decoder knows. */
const WORDS: ReadonlyMap<string, Parsed> = new Map([
  ['', null],
  ['~', null],
  ...words(null, 'null'),
  ...words(true, 'y', 'yes', 'true', 'on'),
  ...words(false, 'n', 'no', 'false', 'off'),
]);

const INFINITE: ReadonlyMap<string, string> = new Map([
  ...['.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF'].map((text) => [text, '+Inf'] as const),
  ...['-.inf', '-.Inf', '-.INF'].map((text) => [text, '-Inf'] as const),
  ...['.nan', '.NaN', '.NAN'].map((text) => [text, 'NaN'] as const),
]);

const DECIMAL = /^[-+]?(?:0|[1-9][0-9]*)$/;
const BASED = /^([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|0[bB]([01]+))$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
/** Longer than any 64-bit number in base two; longer texts are out of range in every base. */
const MAX_DIGITS = 66;
/** Longer numbers are read as strings. */
const MAX_NUMBER = 1024;
const MIN_INT64 = -(2n ** 63n);
const MAX_UINT64 = 2n ** 64n - 1n;

/** The value of a plain scalar by the YAML 1.1 rules of Go's decoder, in linear time. */
export function resolvePlain(text: string): Parsed {
  return resolve(text).value;
}

function resolve(text: string): Resolved {
  const word = WORDS.get(text);
  if (word !== undefined) return { tag: word === null ? '!!null' : '!!bool', value: word };
  const first = text.charCodeAt(0);
  const isNumeric = (first >= 0x30 && first <= 0x39) || first === 0x2b || first === 0x2d || first === 0x2e;
  if (!isNumeric) return { tag: '!!str', value: text };
  const infinite = INFINITE.get(text);
  if (infinite !== undefined)
    throw new YamlSyntaxError(`error converting YAML to JSON: json: unsupported value: ${infinite}`);
  if (text.length > MAX_NUMBER) return { tag: '!!str', value: text };
  const bare = text.replaceAll('_', '');
  const whole = wholeNumber(bare);
  if (whole !== undefined) return { tag: '!!int', value: whole };
  const number = FLOAT.test(bare) ? Number(bare) : Number.NaN;
  // Numbers out of range are strings, as in Go.
  if (!Number.isFinite(number)) return { tag: '!!str', value: text };
  return { tag: '!!float', value: Number.isSafeInteger(number) ? number : new NumberLiteral(String(number)) };
}

/** A 64-bit integer in any base that Go reads; undefined for other texts. */
function wholeNumber(text: string): Parsed | undefined {
  if (text.length > MAX_DIGITS) return undefined;
  if (DECIMAL.test(text)) return exact(BigInt(text.replace('+', '')));
  const based = BASED.exec(text);
  if (based === null) return undefined;
  const [, sign, hex, octal, binary] = based;
  const digits = hex === undefined ? (octal === undefined ? `0b${binary ?? ''}` : `0o${octal}`) : `0x${hex}`;
  return exact(sign === '-' ? -BigInt(digits) : BigInt(digits));
}

function exact(value: bigint): Parsed | undefined {
  if (value < MIN_INT64 || value > MAX_UINT64) return undefined;
  const double = Number(value);
  return Number.isSafeInteger(double) ? double : new NumberLiteral(String(value));
}

/** The value of a scalar with an explicit tag. Tags unknown to Go's decoder leave the text unchanged. Throws YamlSyntaxError. */
export function resolveTagged(text: string, tag: string): Parsed {
  switch (tag) {
    case '!!binary':
      return new TextDecoder().decode(Buffer.from(text, 'base64'));
    case '!!null':
    case '!!bool':
    case '!!int':
    case '!!float': {
      const found = resolve(text);
      if (found.tag === tag || (tag === '!!float' && found.tag === '!!int')) return found.value;
      throw new YamlSyntaxError(`yaml: cannot decode ${found.tag} \`${text.slice(0, 100)}\` as a ${tag}`);
    }
    default:
      return text;
  }
}

/** How the end of a block scalar is treated: `-` strips its last break, `+` keeps all of them. */
export type Chomping = '-' | '+' | '';

/** Joins the lines of a block scalar. */
export class BlockLines {
  /** Empty lines before the next one. */
  breaks = 0;
  /** Whether the last line ends with a break. */
  ended = false;
  readonly #isLiteral: boolean;
  readonly #pieces: string[] = [];
  #wasBlank = false;

  constructor(isLiteral: boolean) {
    this.#isLiteral = isLiteral;
  }

  add(line: string): void {
    const isBlank = line.startsWith(' ') || line.startsWith('\t');
    if (this.ended && !this.#isLiteral && !this.#wasBlank && !isBlank) {
      if (this.breaks === 0) this.#pieces.push(' ');
    } else if (this.ended) this.#pieces.push('\n');
    if (this.breaks > 0) this.#pieces.push('\n'.repeat(this.breaks));
    this.#pieces.push(line);
    this.#wasBlank = isBlank;
    this.ended = false;
    this.breaks = 0;
  }

  text(chomping: Chomping): string {
    if (chomping !== '-' && this.ended) this.#pieces.push('\n');
    if (chomping === '+') this.#pieces.push('\n'.repeat(this.breaks));
    return this.#pieces.join('');
  }
}
