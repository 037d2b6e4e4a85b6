import { isIP } from 'node:net';

const ESCAPE = /%(?![0-9a-fA-F]{2})/;
/** Characters that are not allowed unescaped in a host. */
const NOT_IN_HOST = /[\x00-\x20#/?@\\^`{|}\x7f]/;

/** Whether a text is a URI or an absolute path, as Go parses request URIs. */
function isUri(text: string): boolean {
  if (text === '' || /[\x00-\x1f\x7f]/.test(text)) return false;
  if (text === '*') return true;
  if (text.startsWith(':')) return false;
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(text)?.[1] ?? '';
  const [rest = ''] = (scheme === '' ? text : text.slice(scheme.length + 1)).split('?');
  if (!rest.startsWith('/')) return scheme !== '';
  if (scheme === '' || !rest.startsWith('//')) return !ESCAPE.test(rest);
  const end = rest.indexOf('/', 2);
  const authority = rest.slice(2, end < 0 ? rest.length : end);
  return isAuthority(scheme.toLowerCase(), authority) && (end < 0 || !ESCAPE.test(rest.slice(end)));
}

function isAuthority(scheme: string, authority: string): boolean {
  const at = authority.lastIndexOf('@');
  const user = at < 0 ? '' : authority.slice(0, at);
  return /^[\w.~!$&'()*+,;=:%@-]*$/.test(user) && !ESCAPE.test(user) && isHost(scheme, authority.slice(at + 1));
}

function isHost(scheme: string, host: string): boolean {
  if (host.startsWith('[')) return isBracketed(host);
  if (host.includes('[')) return false;
  const isStrict = scheme === 'http' || scheme === 'https';
  const colon = isStrict ? host.indexOf(':') : host.lastIndexOf(':');
  if (colon >= 0 && !/^:\d*$/.test(host.slice(colon))) return false;
  return isHostText(host);
}

/** In a host, only non-ASCII characters may be escaped, and `%25`, which starts a zone. */
function isHostText(host: string): boolean {
  const escapes = [...host.matchAll(/%(..?)?/g)].map(([escape]) => escape);
  return !NOT_IN_HOST.test(host) && escapes.every((escape) => /^%([89a-fA-F][0-9a-fA-F]|25)$/.test(escape));
}

function isBracketed(host: string): boolean {
  const end = host.lastIndexOf(']');
  if (host.lastIndexOf('[') > 0 || end < 0 || !/^(:\d*)?$/.test(host.slice(end + 1))) return false;
  const [address = '', zone] = host.slice(1, end).split('%25');
  return isIP(address) === 6 && (zone === undefined || (zone !== '' && !ESCAPE.test(zone)));
}

const DATE = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/;
const TIME = /^(\d\d):(\d\d):(\d\d)(.\d+)?(z|[+-]\d\d:\d\d)$/;
const GO_DURATION = /^[-+]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;
/** Units by short names, which must match exactly, and by long names, which may have any ending. */
const UNIT = /^(?:ns|nano.*|us|µs|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*)$/i;

/** Whether a text is a valid calendar date. */
function isDate(text: string): boolean {
  if (!DATE.test(text)) return false;
  const time = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text);
}

/** Whether a text is a date, a `T`, a time of day and a zone. */
function isDateTime(text: string): boolean {
  const [date = '', time = ''] = text.toLowerCase().split('t');
  const [, hours = '99', minutes = '99', seconds = '99'] = TIME.exec(time) ?? [];
  return isDate(date) && hours <= '23' && minutes <= '59' && seconds <= '59';
}

/** Whether a text is a Go duration, or contains a number and a unit as in Scala, with any text around them. */
function isDuration(text: string): boolean {
  if (GO_DURATION.test(text)) return true;
  return [...text.matchAll(/(?<!\d)\d+\s*([A-Za-zµ]+)/g)].some(([, unit = '']) => UNIT.test(unit));
}

const HOSTNAME =
  /^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$/u;

function isHostname(text: string): boolean {
  return Buffer.byteLength(text) <= 255 && text.split('.').every((part) => part.length <= 63) && HOSTNAME.test(text);
}

/** The IP version of an address, 0 for other texts; leading zeros are allowed. */
function familyOf(text: string): number {
  return text.includes('%') ? 0 : isIP(text.replace(/(^|[.:])0+(?=\d+(\.|$))/g, '$1'));
}

/** IPv6 addresses that end in IPv4 notation count too. */
function isIpv4(text: string): boolean {
  return text.includes('.') && familyOf(text) !== 0;
}

function isIpv6(text: string): boolean {
  return text.includes(':') && !text.includes('%') && isIP(text) !== 0;
}

function isCidr(text: string): boolean {
  const slash = text.indexOf('/');
  const family = slash < 0 ? 0 : familyOf(text.slice(0, slash));
  const bits = text.slice(slash + 1);
  return family !== 0 && /^\d+$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
}

/** Hardware addresses of 6, 8 or 20 bytes. */
function isMac(text: string): boolean {
  const pairs = /^[0-9a-f]{2}(?:([:-])[0-9a-f]{2}(?:\1[0-9a-f]{2})*)$/i;
  const fours = /^[0-9a-f]{4}(?:\.[0-9a-f]{4})+$/i;
  if (!pairs.test(text) && !fours.test(text)) return false;
  return [6, 8, 20].includes(text.replace(/[^0-9a-f]/gi, '').length / 2);
}

const CREDIT_CARD =
  /^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11})$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/;
const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

const uuid = (version: string, variant = '[0-9a-f]'): RegExp =>
  new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`, 'i');

const UUID = uuid('[0-9a-f]');
const UUID3 = uuid('3');
const UUID4 = uuid('4', '[89ab]');
const UUID5 = uuid('5', '[89ab]');

/** The formats that schemas of custom resources may use, and their checks. Other formats are not checked. */
const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  bsonobjectid: (text) => /^[0-9a-f]{24}$/i.test(text),
  uri: isUri,
  email: isEmail,
  hostname: isHostname,
  ipv4: isIpv4,
  ipv6: isIpv6,
  cidr: isCidr,
  mac: isMac,
  uuid: (text) => UUID.test(text),
  uuid3: (text) => UUID3.test(text),
  uuid4: (text) => UUID4.test(text),
  uuid5: (text) => UUID5.test(text),
  isbn: (text) => isIsbn10(text) || isIsbn13(text),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  creditcard: (text) => isCreditCard(text.replace(/\D/g, '')),
  ssn: (text) => text.length === 11 && /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text),
  hexcolor: (text) => /^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text),
  rgbcolor: (text) => {
    const part = '\\s*(?:0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])\\s*';
    return new RegExp(`^rgb\\((?:${part},${part},${part})\\)$`).test(text);
  },
  byte: (text) => BASE64.test(text),
  password: () => true,
  date: isDate,
  duration: isDuration,
  datetime: isDateTime,
  'date-time': isDateTime,
  'k8s-short-name': (text) => text.length <= 63 && LABEL.test(text),
  'k8s-long-name': (text) => text.length <= 253 && text.split('.').every((part) => LABEL.test(part)),
};

const INTEGER_FORMATS: readonly string[] = ['int32', 'int64'];
const NUMBER_FORMATS: readonly string[] = ['float', 'double'];

/** Whether Kubernetes supports a format for a type. */
export function isSupportedFormat(format: string, type = ''): boolean {
  switch (type) {
    case '':
    case 'string':
      return isStringFormat(format);
    case 'integer':
      return INTEGER_FORMATS.includes(format);
    case 'number':
      return NUMBER_FORMATS.includes(format);
    default:
      return false;
  }
}

/** Whether a format applies to strings. */
export function isStringFormat(format: string): boolean {
  return Object.hasOwn(FORMATS, format.replaceAll('-', '')) || Object.hasOwn(FORMATS, format);
}

/** Whether a text has a format; true for an unknown format. */
export function hasFormat(text: string, format: string): boolean {
  const check = Object.hasOwn(FORMATS, format) ? FORMATS[format] : FORMATS[format.replaceAll('-', '')];
  return check === undefined || check(text);
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\s-]/g, '');
  if (!/^\d{9}[\dX]$/.test(digits)) return false;
  const sum = [...digits].reduce((total, digit, i) => total + (i + 1) * (digit === 'X' ? 10 : Number(digit)), 0);
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\s-]/g, '');
  if (!/^\d{13}$/.test(digits)) return false;
  const sum = [...digits].reduce((total, digit, i) => total + Number(digit) * (i % 2 === 0 ? 1 : 3), 0);
  return sum % 10 === 0;
}

function isCreditCard(digits: string): boolean {
  if (!CREDIT_CARD.test(digits)) return false;
  const sum = [...digits].reverse().reduce((total, digit, i) => {
    const value = Number(digit) * (i % 2 === 0 ? 1 : 2);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}

/** Whether a text is one mail address, with or without a name, as Go's mail parser reads it. */
function isEmail(text: string): boolean {
  const start = skipBlanks(text, 0);
  const plain = skipAddress(text, start);
  if (plain !== undefined) return isBlank(text, plain);
  const name = skipBlanks(text, skipPhrase(text, start));
  if (text[name] !== '<') return false;
  const address = skipAddress(text, name + 1);
  return address !== undefined && text[address] === '>' && isBlank(text, address + 1);
}

/** The position after the parsed part; undefined if that part is missing. */
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

/** Skips the words of a name, which may contain more characters than an address. */
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
