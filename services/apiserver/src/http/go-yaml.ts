/** The width after which long lines are broken at the next space. */
const WIDTH = 80;
const STEP = 2;

/** JSON as YAML in the style of Go's library, as Kubernetes answers it: keys sorted, lists not indented, long texts broken. */
export function formatYaml(value: unknown): string {
  const text = block(value, 0);
  return text.startsWith('\n') ? text.slice(1) : `${text.trimStart()}\n`;
}

/** A value as it follows a key or a dash: a space and a scalar, or lines of their own at `indent`. Ends without a newline for scalars. */
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

/** An item beside its dash: its first line stands where the dash does. */
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

/** `column` is where the text begins; keys are never broken. */
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

/** Breaks a text at single spaces beyond the width. */
function broken(text: string, indent: number, column: number | 'key', quote: 0 | 1): string {
  if (column === 'key') return text;
  let at = column + quote;
  let out = '';
  let spaced = false;
  const characters = [...text];
  characters.forEach((character, i) => {
    const next = characters[i + 1];
    const inside = quote === 0 || (i > 0 && next !== undefined);
    if (character === ' ' && !spaced && at > WIDTH && inside && next !== ' ') {
      out += `\n${pad(indent)}`;
      at = indent;
    } else {
      out += character;
      at++;
    }
    spaced = character === ' ';
  });
  return out;
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

function doubleQuoted(text: string, indent: number, column: number | 'key'): string {
  let at = column === 'key' ? -Infinity : column + 1;
  let out = '';
  let spaced = false;
  const characters = [...text];
  characters.forEach((character, i) => {
    const next = characters[i + 1];
    if (character === ' ' && !spaced && at > WIDTH && i > 0 && next !== undefined) {
      const lead = next === ' ' ? '\\' : '';
      out += `\n${pad(indent)}${lead}`;
      at = indent + lead.length;
      spaced = true;
      return;
    }
    const written = isPrintable(character) ? (ESCAPES[character] ?? character) : escaped(character);
    out += written;
    at += written.length;
    spaced = character === ' ';
  });
  return `"${out}"`;
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

function styleOf(text: string, isKey: boolean): Style {
  const isSpecial = [...text].some((character) => character !== '\n' && !isPrintable(character));
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

/** Whether a reader would take the text for something else than a text. */
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

/** The order of keys: letters after all else, and numbers within names by their value, then by their length. */
function byKey([a]: [string, unknown], [b]: [string, unknown]): number {
  const [left, right] = [[...a], [...b]];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const [l = '', r = ''] = [left[i], right[i]];
    if (l === r) continue;
    const [isLetterL, isLetterR] = [/\p{L}/u.test(l), /\p{L}/u.test(r)];
    if (isLetterL && isLetterR) return l < r ? -1 : 1;
    if (isLetterL || isLetterR) return isLetterR ? -1 : 1;
    const [digitsL, digitsR] = [digitsAt(left, i), digitsAt(right, i)];
    // A zero counts only where a number has begun before it.
    const lead = (l === '0' || r === '0') && isWithinNumber(left, i) ? '1' : '';
    const [numberL, numberR] = [Number(lead + digitsL), Number(lead + digitsR)];
    if (numberL !== numberR) return numberL < numberR ? -1 : 1;
    if (digitsL.length !== digitsR.length) return digitsL.length - digitsR.length;
    return l < r ? -1 : 1;
  }
  return left.length - right.length;
}

function digitsAt(characters: readonly string[], at: number): string {
  let end = at;
  while (isDigit(characters[end])) end++;
  return characters.slice(at, end).join('');
}

function isWithinNumber(characters: readonly string[], at: number): boolean {
  let start = at - 1;
  while (characters[start] === '0') start--;
  return isDigit(characters[start]);
}

function isDigit(character = ''): boolean {
  return /^\d$/.test(character);
}
