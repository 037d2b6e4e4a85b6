/** One parser with input of one shape. */
export interface ParserCase {
  /** The tested export: `package/export`. */
  readonly parser: string;
  readonly shape: string;
  /** The largest accepted size, in characters or items. Larger inputs are rejected before they are parsed. */
  readonly largest: number;
  /** Creates an input of a size. The returned function parses it, and throws only errors that the parser documents. */
  readonly prepare: (size: number) => () => unknown;
}

/** Creates a text of about `size` characters. */
export type Shape = (size: number) => string;

/** Cases for one parser, with texts of several shapes. */
export function casesOf(
  parser: string,
  largest: number,
  shapes: Readonly<Record<string, Shape>>,
  feed: (text: string) => () => unknown,
): readonly ParserCase[] {
  return Object.entries(shapes).map(([shape, textOf]) => ({
    parser,
    shape,
    largest,
    prepare: (size) => feed(textOf(size)),
  }));
}

export const times = (text: string, size: number): string => text.repeat(Math.max(1, Math.floor(size / text.length)));

export const numbered = (size: number, each: (i: number) => string, separator: string): string => {
  const parts: string[] = [];
  for (let length = 0, i = 0; length < size; i++) {
    const part = each(i);
    parts.push(part);
    length += part.length + separator.length;
  }
  return parts.join(separator);
};

/** Texts that are difficult for patterns, splits and number conversions of any parser. */
export const TEXTS: Readonly<Record<string, Shape>> = {
  'one letter': (size) => times('a', size),
  'one digit': (size) => times('1', size),
  'digits and a letter': (size) => `${times('1', size)}x`,
  'zeros with an exponent': (size) => `1${times('0', size)}e0`,
  fraction: (size) => `0.${times('1', size)}`,
  exponent: (size) => `1e${times('1', size)}`,
  dots: (size) => times('a.', size),
  'dots and a stop': (size) => `${times('a.', size)}!`,
  hyphens: (size) => `${times('a-', size)}!`,
  'letters and a stop': (size) => `${times('a', size)}!`,
  blanks: (size) => `a${times(' ', size)}a`,
  slashes: (size) => times('/', size),
  backslashes: (size) => times('\\', size),
  colons: (size) => times(':', size),
  'groups of an address': (size) => times('1:', size),
  commas: (size) => times(',', size),
  'equals signs': (size) => times('a=', size),
  percents: (size) => times('%', size),
  escapes: (size) => times('%41', size),
  parentheses: (size) => times('(', size),
  brackets: (size) => times('[', size),
  braces: (size) => times('{', size),
  quotes: (size) => times('"', size),
  units: (size) => times('1s', size),
  'units and a stop': (size) => `${times('1h', size)}!`,
  'at signs': (size) => times('@', size),
  base64: (size) => times('YWFh', size),
  'base64 and a stop': (size) => `${times('YWFh', size)}!`,
  'lines of base64': (size) => times('YWFh\n', size),
  accents: (size) => times('\u00e9', size),
  pairs: (size) => times('\u{1f600}', size),
  'halves of pairs': (size) => times('\ud800', size),
  breaks: (size) => times('\n', size),
  nulls: (size) => times('\0', size),
};
