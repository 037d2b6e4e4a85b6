import { isIP } from 'node:net';

/** Whether a text is one address of a message, with or without a name, as Go's mail parser reads it. */
export function isEmail(text: string): boolean {
  const start = skipBlanks(text, 0);
  const plain = skipAddress(text, start);
  if (plain !== undefined) return isBlank(text, plain);
  const name = skipBlanks(text, skipPhrase(text, start));
  if (text[name] !== '<') return false;
  const address = skipAddress(text, name + 1);
  return address !== undefined && text[address] === '>' && isBlank(text, address + 1);
}

/** Each of these gives the place behind what it reads; undefined where that is not there. */
type Place = number | undefined;

function skipBlanks(text: string, at: number): number {
  let next = at;
  while (text[next] === ' ' || text[next] === '\t') next++;
  return next;
}

/** Whether nothing but blanks and comments follows. */
function isBlank(text: string, at: number): boolean {
  let next = skipBlanks(text, at);
  while (text[next] === '(') {
    const end = skipComment(text, next);
    if (end === undefined) return false;
    next = skipBlanks(text, end);
  }
  return next === text.length;
}

function skipComment(text: string, at: number): Place {
  let depth = 0;
  for (let next = at; next < text.length; next++) {
    if (text[next] === '\\') next++;
    else if (text[next] === '(') depth++;
    else if (text[next] === ')' && --depth === 0) return next + 1;
  }
  return undefined;
}

function skipAddress(text: string, from: number): Place {
  const at = skipBlanks(text, from);
  const local = text[at] === '"' ? skipQuoted(text, at) : skipDotAtom(text, at);
  // An empty quoted name is invalid.
  if (local === undefined || text.slice(at, local) === '""' || text[local] !== '@') return undefined;
  const domain = skipBlanks(text, local + 1);
  return text[domain] === '[' ? skipLiteral(text, domain) : skipDotAtom(text, domain);
}

function skipDotAtom(text: string, at: number): Place {
  const [atom = ''] = match(text, at, /[^\s\p{Cc}()<>[\]:;@\\,"]+/uy);
  const isSound = atom !== '' && !atom.startsWith('.') && !atom.endsWith('.') && !atom.includes('..');
  return isSound ? at + atom.length : undefined;
}

function skipQuoted(text: string, at: number): Place {
  const [quoted = ''] = match(text, at, /"(?:\\[^\p{Cc}]|[^"\\\p{Cc}])*"/uy);
  return quoted === '' ? undefined : at + quoted.length;
}

function skipLiteral(text: string, at: number): Place {
  const [literal = ''] = match(text, at, /\[([^[\]\\]*)\]/y);
  return isIP(literal.slice(1, -1)) === 0 ? undefined : at + literal.length;
}

/** Words of a name; a name may have more characters in it than an address. */
function skipPhrase(text: string, from: number): number {
  let at = from;
  for (;;) {
    const word = skipBlanks(text, at);
    if (text[word] === '<') return word;
    const quoted = text[word] === '"' ? skipQuoted(text, word) : undefined;
    const [atom = ''] = match(text, word, /[^\s\p{Cc}<>:"]+/uy);
    const next = quoted ?? word + atom.length;
    if (next === word) return at;
    at = next;
  }
}

function match(text: string, at: number, pattern: RegExp): readonly string[] {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? [];
}
