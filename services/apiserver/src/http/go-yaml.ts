/** Long lines break at the first space after this width. */
const WIDTH = 80;
const STEP = 2;

/** Formats JSON as YAML in the style of Go's library, as Kubernetes does: sorted keys, lists without indentation, wrapped long strings. */
export function formatYaml(value: unknown): string {
  const text = block(value, 0);
  return text.startsWith('\n') ? text.slice(1) : `${text.trimStart()}\n`;
}

/** A value after a key or a dash: a space and a scalar, or new lines at `indent`. A scalar has no line break at its end. */
function block(value: unknown, indent: number): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return ' []';
    return `\n${value.map((item) => `${pad(indent)}-${inline(item, indent + STEP)}`).join('')}`;
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
    if (entries.length === 0) return ' {}';
    return `\n${entries.sort(byKey).map(entryAt(indent)).join('')}`;
  }
  return ` ${scalar(value, indent, 0)}`;
}

function entryAt(indent: number): (entry: [string, unknown]) => string {
  return ([key, value]) => {
    const head = `${pad(indent)}${scalar(key, indent, 'key')}:`;
    if (isNested(value)) return `${head}${block(value, Array.isArray(value) ? indent : indent + STEP)}`;
    return `${head} ${isScalar(value) ? scalar(value, indent + STEP, head.length + 1) : block(value, 0).trim()}\n`;
  };
}

/** A list item after its dash. Its first line is on the line of the dash. */
function inline(item: unknown, indent: number): string {
  if (isNested(item)) return ` ${block(item, indent).slice(1 + indent)}`;
  return ` ${isScalar(item) ? scalar(item, indent, indent) : block(item, 0).trim()}\n`;
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

function isNested(value: unknown): boolean {
  return !isScalar(value) && Object.values(value as object).some((inner) => inner !== undefined);
}

function pad(indent: number): string {
  return ' '.repeat(indent);
}

/** `column` is the column at which the text begins. Keys are never wrapped. */
function scalar(value: unknown, indent: number, column: number | 'key'): string {
  if (typeof value !== 'string') return value === null || value === undefined ? 'null' : JSON.stringify(value);
  const style = styleOf(value, column === 'key');
  switch (style) {
    case 'plain':
      return broken(value, indent, column, 0);
    case 'single':
      return `'${broken(value.replaceAll("'", "''"), indent, column, 1)}'`;
    case 'double':
      return doubleQuoted(value, indent, column);
    case 'literal':
      return literal(value, indent);
  }
}

/** Wraps a text of printable characters at single spaces after the width. */
function broken(text: string, indent: number, column: number | 'key', quote: 0 | 1): string {
  if (column === 'key' || column + quote + text.length <= WIDTH) return text;
  const pieces: string[] = [];
  let lineAt = column + quote;
  let from = 0;
  for (let space = text.indexOf(' '); space >= 0; space = text.indexOf(' ', space + 1)) {
    const isSingle = text[space - 1] !== ' ' && text[space + 1] !== ' ';
    const isInside = quote === 0 || (space > 0 && space + 1 < text.length);
    if (!isSingle || !isInside || lineAt + space - from <= WIDTH) continue;
    pieces.push(text.slice(from, space));
    from = space + 1;
    lineAt = indent;
  }
  if (from === 0) return text;
  pieces.push(text.slice(from));
  return pieces.join(`\n${pad(indent)}`);
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\0': '\\0',
  '\x07': '\\a',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\v': '\\v',
  '\f': '\\f',
  '\r': '\\r',
  '\x1b': '\\e',
  '"': '\\"',
  '\\': '\\\\',
  '\x85': '\\N',
  '\u2028': '\\L',
  '\u2029': '\\P',
};

/** Characters that need no escape in double quotes, except spaces. */
const SELF = /[!#-[\]-~\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]+/y;

function doubleQuoted(text: string, indent: number, column: number | 'key'): string {
  let at = column === 'key' ? -Infinity : column + 1;
  const pieces: string[] = ['"'];
  let spaced = false;
  for (let i = 0; i < text.length; ) {
    SELF.lastIndex = i;
    const run = SELF.exec(text)?.[0] ?? '';
    if (run !== '') {
      pieces.push(run);
      at += run.length;
      i += run.length;
      spaced = false;
      continue;
    }
    const character = String.fromCodePoint(text.codePointAt(i) ?? 0);
    const next = text[i + character.length];
    if (character === ' ' && !spaced && at > WIDTH && i > 0 && next !== undefined) {
      const lead = next === ' ' ? '\\' : '';
      pieces.push(`\n${pad(indent)}${lead}`);
      at = indent + lead.length;
    } else {
      const written = isPrintable(character) ? (ESCAPES[character] ?? character) : escaped(character);
      pieces.push(written);
      at += written.length;
    }
    spaced = character === ' ';
    i += character.length;
  }
  pieces.push('"');
  return pieces.join('');
}

function escaped(character: string): string {
  const known = ESCAPES[character];
  if (known !== undefined) return known;
  const code = character.codePointAt(0) ?? 0;
  const [mark, digits] = code < 0x100 ? ['x', 2] : code < 0x10000 ? ['u', 4] : ['U', 8];
  return `\\${mark}${code.toString(16).toUpperCase().padStart(Number(digits), '0')}`;
}

function literal(text: string, indent: number): string {
  const hint = /^[ \n]/.test(text) ? String(STEP) : '';
  const chomp = text.endsWith('\n\n') || text === '\n' ? '+' : text.endsWith('\n') ? '' : '-';
  const body = (text.endsWith('\n') ? text.slice(0, -1) : text)
    .split('\n')
    .map((line) => (line === '' ? '' : pad(indent) + line));
  return `|${hint}${chomp}\n${body.join('\n')}`;
}

type Style = 'plain' | 'single' | 'double' | 'literal';

/** Matches most keys and many values. Such a text needs no quotes, unless it is a reserved word of YAML. */
const SIMPLE = /^[A-Za-z][\w./-]*$/;
/** Characters that `isPrintable` rejects, including surrogates. */
const SPECIAL = /[^\n\x20-\x7e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/;

function styleOf(text: string, isKey: boolean): Style {
  if (SIMPLE.test(text)) return OTHER_WORDS.has(text) ? 'double' : 'plain';
  const isSpecial = SPECIAL.test(text);
  if (text.includes('\n')) return isKey || isSpecial || / \n| $/.test(text) ? 'double' : 'literal';
  if (meansOther(text) || isSpecial) return 'double';
  return isPlain(text) ? 'plain' : 'single';
}

function isPrintable(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return (
    (code >= 0x20 && code <= 0x7e) ||
    (code >= 0xa0 && code <= 0xd7ff) ||
    (code >= 0xe000 && code <= 0xfffd && code !== 0xfeff)
  );
}

function isPlain(text: string): boolean {
  if (/^ | $/.test(text) || /^(---|\.\.\.)/.test(text)) return false;
  if (/^[#,[\]{}&*!|>'"%@`]/.test(text)) return false;
  return !/^[-?:](?: |$)/.test(text) && !/:(?: |$)/.test(text) && !/ #/.test(text);
}

const OTHER_WORDS = new Set(
  ['', '~', '.nan', '.NaN', '.NAN'].concat(
    ['null', 'y', 'yes', 'true', 'on', 'n', 'no', 'false', 'off', '.inf', '+.inf', '-.inf'].flatMap((word) => [
      word,
      word.toUpperCase(),
      word.replace(/[a-z]/, (letter) => letter.toUpperCase()),
    ]),
  ),
);

/** Whether a YAML parser would read the plain text as another type than string. */
function meansOther(text: string): boolean {
  if (OTHER_WORDS.has(text)) return true;
  if (!/^[-+.\d]/.test(text)) return false;
  const bare = text.replaceAll('_', '');
  return (
    /^[-+]?(?:0[xX][\da-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|\d+)$/.test(bare) ||
    /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/.test(bare) ||
    /^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?$/.test(text) ||
    /^\d{4}-\d{1,2}-\d{1,2}(?:(?:[Tt]|[ \t]+)\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?(?:[ \t]*(?:Z|[-+]\d{1,2}(?::\d{2})?))?)?$/.test(
      text,
    )
  );
}

/** The order of keys: letters come after all other characters. Numbers in names are compared by value, then by length. */
function byKey([left]: [string, unknown], [right]: [string, unknown]): number {
  const shorter = Math.min(left.length, right.length);
  let i = 0;
  while (i < shorter && left.charCodeAt(i) === right.charCodeAt(i)) i++;
  // Surrogate pairs that differ in the second half are compared as a whole.
  if (i > 0 && i < shorter && isTrail(left.charCodeAt(i)) && isTrail(right.charCodeAt(i))) i--;
  if (i === shorter) return left.length - right.length;
  const [codeL, codeR] = [left.charCodeAt(i), right.charCodeAt(i)];
  if (isLowerCase(codeL) && isLowerCase(codeR)) return codeL - codeR;
  const [l, r] = [characterAt(left, i), characterAt(right, i)];
  const [isLetterL, isLetterR] = [/\p{L}/u.test(l), /\p{L}/u.test(r)];
  if (isLetterL && isLetterR) return l < r ? -1 : 1;
  if (isLetterL || isLetterR) return isLetterR ? -1 : 1;
  const [digitsL, digitsR] = [digitsAt(left, i), digitsAt(right, i)];
  // A zero counts only if it continues a number.
  const lead = (l === '0' || r === '0') && isWithinNumber(left, i) ? '1' : '';
  const [numberL, numberR] = [Number(lead + digitsL), Number(lead + digitsR)];
  if (numberL !== numberR) return numberL < numberR ? -1 : 1;
  if (digitsL.length !== digitsR.length) return digitsL.length - digitsR.length;
  return l < r ? -1 : 1;
}

function isLowerCase(code: number): boolean {
  return code >= 0x61 && code <= 0x7a;
}

function isTrail(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

function characterAt(text: string, at: number): string {
  return String.fromCodePoint(text.codePointAt(at) ?? 0);
}

function digitsAt(text: string, at: number): string {
  let end = at;
  while (isDigit(text[end])) end++;
  return text.slice(at, end);
}

function isWithinNumber(text: string, at: number): boolean {
  let start = at - 1;
  while (text[start] === '0') start--;
  return isDigit(text[start]);
}

function isDigit(character = ''): boolean {
  return character >= '0' && character <= '9' && character.length === 1;
}
