import { type Issue } from '../source.ts';

export type TokenKind =
  | '=='
  | '!='
  | 'in'
  | '<'
  | '<='
  | '>='
  | '>'
  | '&&'
  | '||'
  | '['
  | ']'
  | '{'
  | '}'
  | '('
  | ')'
  | '.'
  | ','
  | '-'
  | '!'
  | '?'
  | ':'
  | '+'
  | '*'
  | '/'
  | '%'
  | 'true'
  | 'false'
  | 'null'
  | 'NUM_FLOAT'
  | 'NUM_INT'
  | 'NUM_UINT'
  | 'STRING'
  | 'BYTES'
  | 'IDENTIFIER'
  | 'ESC_IDENTIFIER'
  | '<EOF>';

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly offset: number;
}

const ESCAPE = String.raw`\\(?:[abfnrtv"'\\?${'`'}]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})`;
/** Matches an unfinished escape, to find where a string becomes invalid. */
const PARTIAL_ESCAPE = String.raw`(?:\\(?:[0-3][0-7]?|[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?)?`;

const sticky = (pattern: string) => new RegExp(pattern, 'y');

const SKIPPED = sticky(String.raw`(?:[\t \r\n\f]+|\/\/[^\n]*)+`);
const NUMBER = sticky(
  String.raw`(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)|0x[0-9a-fA-F]+[uU]?|\d+[uU]?`,
);
const WORD = sticky(String.raw`[A-Za-z_][A-Za-z0-9_]*`);
const ESCAPED_WORD = sticky('`[A-Za-z0-9_.\\-/ ]+`');
const OPERATOR = sticky(String.raw`==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%]`);
const STRINGS = [
  sticky(String.raw`"""(?:${ESCAPE}|[^\\])*?"""`),
  sticky(String.raw`'''(?:${ESCAPE}|[^\\])*?'''`),
  sticky(String.raw`"(?:${ESCAPE}|[^\\"\n\r])*"`),
  sticky(String.raw`'(?:${ESCAPE}|[^\\'\n\r])*'`),
];
const RAW_STRINGS = [
  sticky(String.raw`"""[^]*?"""`),
  sticky(String.raw`'''[^]*?'''`),
  sticky(String.raw`"[^"\n\r]*"`),
  sticky(String.raw`'[^'\n\r]*'`),
];
/** Matches the valid beginning of a broken string. */
const BROKEN = new Map([
  ['"', sticky(String.raw`"(?:${ESCAPE}|[^\\"\n\r])*${PARTIAL_ESCAPE}`)],
  ["'", sticky(String.raw`'(?:${ESCAPE}|[^\\'\n\r])*${PARTIAL_ESCAPE}`)],
  ['`', sticky('`[A-Za-z0-9_.\\-/ ]*')],
]);
const KEYWORDS: ReadonlySet<string> = new Set(['in', 'true', 'false', 'null']);

/**
 * The tokens of an expression, ending with `<EOF>`. Invalid characters are reported and skipped. Reads at most one token more than `most`,
 * and stops after `most` issues.
 */
export function tokenize(
  text: string,
  most: number,
): { readonly tokens: readonly Token[]; readonly issues: readonly Issue[] } {
  const tokens: Token[] = [];
  const issues: Issue[] = [];
  let offset = 0;
  while (offset < text.length && tokens.length < most && issues.length < most) {
    const skipped = matchAt(SKIPPED, text, offset);
    if (skipped !== undefined) {
      offset += skipped.length;
      continue;
    }
    const token = readToken(text, offset);
    if (token !== undefined) {
      tokens.push(token);
      offset += token.text.length;
      continue;
    }
    const bad = brokenAt(text, offset);
    const shown = bad.replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');
    issues.push({ offset, message: `Syntax error: token recognition error at: '${shown}'` });
    offset += bad.length;
  }
  tokens.push({ kind: '<EOF>', text: '<EOF>', offset: text.length });
  return { tokens, issues };
}

function matchAt(pattern: RegExp, text: string, offset: number): string | undefined {
  pattern.lastIndex = offset;
  return pattern.exec(text)?.[0];
}

function readToken(text: string, offset: number): Token | undefined {
  const string = readString(text, offset);
  if (string !== undefined) return string;
  const number = matchAt(NUMBER, text, offset);
  if (number !== undefined) return { kind: numberKind(number), text: number, offset };
  const word = matchAt(WORD, text, offset);
  if (word !== undefined) {
    return { kind: KEYWORDS.has(word) ? (word as TokenKind) : 'IDENTIFIER', text: word, offset };
  }
  const escaped = matchAt(ESCAPED_WORD, text, offset);
  if (escaped !== undefined) return { kind: 'ESC_IDENTIFIER', text: escaped, offset };
  const operator = matchAt(OPERATOR, text, offset);
  return operator === undefined ? undefined : { kind: operator as TokenKind, text: operator, offset };
}

function numberKind(text: string): TokenKind {
  if (/[uU]$/.test(text)) return 'NUM_UINT';
  if (text.startsWith('0x')) return 'NUM_INT';
  return /[.eE]/.test(text) ? 'NUM_FLOAT' : 'NUM_INT';
}

function readString(text: string, offset: number): Token | undefined {
  const prefix = matchAt(STRING_PREFIX, text, offset);
  if (prefix === undefined) return undefined;
  const letters = prefix.slice(0, -1).toLowerCase();
  const patterns = letters.includes('r') ? RAW_STRINGS : STRINGS;
  for (const pattern of patterns) {
    const body = matchAt(pattern, text, offset + letters.length);
    if (body === undefined) continue;
    return {
      kind: letters.startsWith('b') ? 'BYTES' : 'STRING',
      text: text.slice(offset, offset + letters.length) + body,
      offset,
    };
  }
  return undefined;
}

const STRING_PREFIX = sticky(String.raw`[bB]?[rR]?["']`);

/** The longest prefix of a token, with the character at which it failed. */
function brokenAt(text: string, offset: number): string {
  const first = text[offset] ?? '';
  const string = BROKEN.get(first);
  const read = string === undefined ? (/[&|=]/.test(first) ? first : '') : (matchAt(string, text, offset) ?? first);
  const failing = text.codePointAt(offset + read.length);
  return read + (failing === undefined ? '' : String.fromCodePoint(failing));
}
