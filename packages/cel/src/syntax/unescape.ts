/** The content of a string or bytes literal, or the reason why it is invalid. */
export type Unescaped<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string };

const SIMPLE: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
  '\\': 92,
  "'": 39,
  '"': 34,
  '`': 96,
  '?': 63,
};

const BAD = 'unable to unescape string';

/** Reads a string literal with its quotes and `r` prefix. */
export function unescapeString(token: string): Unescaped<string> {
  const { raw, body } = unquote(token);
  if (raw || !body.includes('\\')) return { ok: true, value: body };
  const parts: string[] = [];
  for (const piece of pieces(body)) {
    if (typeof piece === 'string') {
      parts.push(piece);
      continue;
    }
    if (piece.code < 0) return { ok: false, message: BAD };
    if (piece.code > 0x10ffff || (piece.code >= 0xd800 && piece.code <= 0xdfff)) {
      return { ok: false, message: 'invalid unicode code point' };
    }
    parts.push(String.fromCodePoint(piece.code));
  }
  return { ok: true, value: parts.join('') };
}

/** Reads a bytes literal without its `b` prefix: numeric escapes are bytes, not characters. */
export function unescapeBytes(token: string): Unescaped<Uint8Array> {
  const { raw, body } = unquote(token);
  if (raw) return { ok: true, value: Buffer.from(body) };
  const parts: Uint8Array[] = [];
  for (const piece of pieces(body)) {
    if (typeof piece === 'string') parts.push(Buffer.from(piece));
    else if (piece.code < 0 || piece.unicode) return { ok: false, message: BAD };
    else parts.push(Uint8Array.of(piece.code));
  }
  return { ok: true, value: Buffer.concat(parts) };
}

function unquote(token: string): { readonly raw: boolean; readonly body: string } {
  const raw = /^[rR]/.test(token);
  const quoted = (raw ? token.slice(1) : token).replace(/\r\n?/g, '\n');
  const long = quoted.length >= 6 && (quoted.startsWith('"""') || quoted.startsWith("'''"));
  const width = long ? 3 : 1;
  return { raw, body: quoted.slice(width, -width) };
}

interface EscapeSequence {
  /** -1 for an invalid escape. */
  readonly code: number;
  readonly unicode: boolean;
}

const ESCAPE = /\\(?:([xX])([0-9a-fA-F]{2})|(u)([0-9a-fA-F]{4})|(U)([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.)?)|[^\\]+/gs;

function* pieces(body: string): IterableIterator<string | EscapeSequence> {
  for (const match of body.matchAll(ESCAPE)) {
    const [whole, , hex, , short, , long, octal, simple] = match;
    if (!whole.startsWith('\\')) yield whole;
    else if (hex !== undefined) yield { code: Number.parseInt(hex, 16), unicode: false };
    else if (short !== undefined || long !== undefined) {
      yield { code: Number.parseInt(short ?? long ?? '', 16), unicode: true };
    } else if (octal !== undefined) yield { code: Number.parseInt(octal, 8), unicode: false };
    else yield { code: SIMPLE[simple ?? ''] ?? -1, unicode: false };
  }
}
