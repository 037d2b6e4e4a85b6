import { declareFunction as declare, type FunctionDeclaration } from '../environment/function-declaration.ts';
import { ArrayList } from '../values/collections.ts';
import { MAX_CHARACTERS, TOO_MANY_CHARACTERS } from '../values/size-limits.ts';
import { CelError, type CelList, type CelResult, type CelValue } from '../values/value.ts';
import { formatText } from './format-text.ts';
import { overlongMatch, patternOf } from '../patterns/patterns.ts';

type Arg = CelValue;

const outOfRange = (index: bigint) => new CelError(`index out of range: ${index}`);

/** The string as characters; indices count these. */
const charsOf = (text: Arg) => [...(text as string)];

function charAt(text: Arg, index: Arg): CelResult {
  const chars = charsOf(text);
  const at = index as bigint;
  if (at < 0n || at > BigInt(chars.length)) return outOfRange(at);
  return chars[Number(at)] ?? '';
}

function indexOf(text: Arg, part: Arg, from: Arg = 0n): CelResult {
  const chars = charsOf(text);
  const offset = from as bigint;
  if (part === '') return offset;
  if (offset < 0n) return outOfRange(offset);
  if (offset >= BigInt(chars.length)) return -1n;
  const rest = chars.slice(Number(offset)).join('');
  const found = rest.indexOf(part as string);
  return found < 0 ? -1n : offset + BigInt([...rest.slice(0, found)].length);
}

function lastIndexOf(text: Arg, part: Arg, from?: Arg): CelResult {
  const chars = charsOf(text);
  if (part === '') return from ?? BigInt(chars.length);
  const width = charsOf(part).length;
  const offset = (from ?? BigInt(chars.length)) as bigint;
  if (offset < 0n) return outOfRange(offset);
  if (from !== undefined && offset >= BigInt(chars.length)) return -1n;
  const found = chars
    .slice(0, Number(offset) + width)
    .join('')
    .lastIndexOf(part as string);
  return found < 0 ? -1n : BigInt([...(text as string).slice(0, found)].length);
}

function substring(text: Arg, start: Arg, end?: Arg): CelResult {
  const chars = charsOf(text);
  const length = BigInt(chars.length);
  const [from, to] = [start as bigint, (end ?? length) as bigint];
  if (end !== undefined && from > to) return new CelError(`invalid substring range. start: ${from}, end: ${to}`);
  if (from < 0n || from > length) return outOfRange(from);
  if (to < 0n || to > length) return outOfRange(to);
  return chars.slice(Number(from), Number(to)).join('');
}

function replace(text: Arg, old: Arg, by: Arg, limit: Arg = -1n): CelResult {
  const [source, part, replacement] = [text as string, old as string, by as string];
  const most = (limit as bigint) < 0n ? Infinity : Number(limit);
  const pieces = part === '' ? [...charsOf(source), ''] : source.split(part);
  const cut = Math.min(part === '' ? pieces.length : pieces.length - 1, most);
  if (source.length + cut * (replacement.length - part.length) > MAX_CHARACTERS) return TOO_MANY_CHARACTERS;
  if (part === '') return interleave(pieces, replacement, cut);
  const head = pieces.slice(0, cut).map((piece) => piece + replacement);
  return head.join('') + pieces.slice(cut).join(part);
}

/** Inserts the replacement before each of the first `most` pieces. */
function interleave(pieces: readonly string[], replacement: string, most: number): string {
  return pieces.map((piece, index) => (index < most ? replacement + piece : piece)).join('');
}

function split(text: Arg, separator: Arg, limit: Arg = -1n): CelResult {
  const most = limit as bigint;
  if (most === 0n) return new ArrayList([]);
  const parts = separator === '' ? charsOf(text) : (text as string).split(separator as string);
  if (most < 0n || BigInt(parts.length) <= most) return new ArrayList(parts);
  const head = parts.slice(0, Number(most) - 1);
  return new ArrayList([...head, parts.slice(Number(most) - 1).join(separator as string)]);
}

function join(list: Arg, separator: Arg = ''): CelResult {
  const parts: string[] = [];
  let length = 0;
  for (const element of list as CelList) {
    if (typeof element !== 'string') return new CelError(`join: invalid input: ${String(element)}`);
    length += element.length + (parts.length === 0 ? 0 : (separator as string).length);
    if (length > MAX_CHARACTERS) return TOO_MANY_CHARACTERS;
    parts.push(element);
  }
  return parts.join(separator as string);
}

const SPACE = /^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$/;

/** Trims white space at both ends. A loop, since a pattern would try every run of white space in between. */
function trim(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && SPACE.test(text.charAt(start))) start++;
  while (end > start && SPACE.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

const QUOTED: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

const quote = (text: Arg) =>
  `"${charsOf(text)
    .map((char) => QUOTED[char] ?? char)
    .join('')}"`;

function findAll(text: Arg, pattern: Arg, limit: Arg = -1n): CelResult {
  const compiled = patternOf(pattern as string);
  if (!compiled.ok) return new CelError(`Illegal regex: ${compiled.message}`);
  const overlong = overlongMatch(text as string, compiled);
  if (overlong !== undefined) return overlong;
  const matcher = compiled.regex.matcher(text as string);
  const found: string[] = [];
  const most = limit as bigint;
  while ((most < 0n || BigInt(found.length) < most) && matcher.find()) found.push(matcher.group() ?? '');
  return new ArrayList(found);
}

function find(text: Arg, pattern: Arg): CelResult {
  const compiled = patternOf(pattern as string);
  if (!compiled.ok) return new CelError(`Illegal regex: ${compiled.message}`);
  const overlong = overlongMatch(text as string, compiled);
  if (overlong !== undefined) return overlong;
  const matcher = compiled.regex.matcher(text as string);
  return matcher.find() ? (matcher.group() ?? '') : '';
}

/** Functions over strings and patterns. */
export const STRINGS: readonly FunctionDeclaration[] = [
  declare('charAt', ['string_char_at_int', 'string.(int) -> string', charAt]),
  declare(
    'indexOf',
    ['string_index_of_string', 'string.(string) -> int', indexOf],
    ['string_index_of_string_int', 'string.(string, int) -> int', indexOf],
  ),
  declare(
    'lastIndexOf',
    ['string_last_index_of_string', 'string.(string) -> int', lastIndexOf],
    ['string_last_index_of_string_int', 'string.(string, int) -> int', lastIndexOf],
  ),
  declare('lowerAscii', [
    'string_lower_ascii',
    'string.() -> string',
    (text) => (text as string).replace(/[A-Z]/g, (char) => char.toLowerCase()),
  ]),
  declare('upperAscii', [
    'string_upper_ascii',
    'string.() -> string',
    (text) => (text as string).replace(/[a-z]/g, (char) => char.toUpperCase()),
  ]),
  declare(
    'replace',
    ['string_replace_string_string', 'string.(string, string) -> string', replace],
    ['string_replace_string_string_int', 'string.(string, string, int) -> string', replace],
  ),
  declare(
    'split',
    ['string_split_string', 'string.(string) -> list(string)', split],
    ['string_split_string_int', 'string.(string, int) -> list(string)', split],
  ),
  declare(
    'substring',
    ['string_substring_int', 'string.(int) -> string', substring],
    ['string_substring_int_int', 'string.(int, int) -> string', substring],
  ),
  declare('trim', ['string_trim', 'string.() -> string', (text) => trim(text as string)]),
  declare('format', [
    'string_format',
    'string.(list(dyn)) -> string',
    (text, args) => formatText(text as string, args as CelList),
  ]),
  declare('strings.quote', ['strings_quote', '(string) -> string', quote]),
  declare(
    'join',
    ['list_join', 'list(string).() -> string', join],
    ['list_join_string', 'list(string).(string) -> string', join],
  ),
  declare('find', ['string_find_string', 'string.(string) -> string', find]),
  declare(
    'findAll',
    ['string_find_all_string', 'string.(string) -> list(string)', findAll],
    ['string_find_all_string_int', 'string.(string, int) -> list(string)', findAll],
  ),
];
