/** Attributes with links, by element. */
const LINKS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    a: ['href'],
    applet: ['codebase'],
    area: ['href'],
    audio: ['src'],
    base: ['href'],
    blockquote: ['cite'],
    body: ['background'],
    button: ['formaction'],
    command: ['icon'],
    del: ['cite'],
    embed: ['src'],
    form: ['action'],
    frame: ['longdesc', 'src'],
    head: ['profile'],
    html: ['manifest'],
    iframe: ['longdesc', 'src'],
    img: ['longdesc', 'src', 'usemap'],
    input: ['src', 'usemap', 'formaction'],
    ins: ['cite'],
    link: ['href'],
    object: ['classid', 'codebase', 'data', 'usemap'],
    q: ['cite'],
    script: ['src'],
    source: ['src'],
    video: ['poster', 'src'],
  }),
);

const NAME = /[A-Za-z][A-Za-z0-9]*/y;
const SPACE = /\s*/y;
const ATTRIBUTE_NAME = /[^\s=>"'/]+/y;
const BARE_VALUE = /[^\s>]*/y;

/** Rewrites the links of a page to go through the proxy. Reads each character once, so that a malicious page cannot make it slow. */
export function rewriteHtml(page: string, place: Place): string {
  const out: string[] = [];
  let done = 0;
  for (let at = page.indexOf('<'); at >= 0; ) {
    if (page.startsWith('<!--', at)) {
      const end = page.indexOf('-->', at + 4);
      if (end < 0) break;
      at = page.indexOf('<', end);
      continue;
    }
    const name = take(page, at + 1, NAME);
    if (name === '') {
      at = page.indexOf('<', at + 1);
      continue;
    }
    const tag = readTag(page, at + 1 + name.length);
    if (tag === undefined) break;
    const names = LINKS.get(name.toLowerCase()) ?? [];
    for (const { key, start, end, value } of tag.attributes) {
      if (!names.includes(key.toLowerCase())) continue;
      const link = rewriteLink(value.replaceAll('&amp;', '&'), place);
      out.push(page.slice(done, start), `"${link.replaceAll('&', '&amp;').replaceAll('"', '&#34;')}"`);
      done = end;
    }
    at = page.indexOf('<', tag.end);
  }
  out.push(page.slice(done));
  return out.join('');
}

interface Attribute {
  readonly key: string;
  readonly value: string;
  /** Start of the value, including its quotes. */
  readonly start: number;
  readonly end: number;
}

/** Parses the attributes of a tag, starting after its name. Undefined when the tag has no end. */
function readTag(page: string, from: number): { attributes: readonly Attribute[]; end: number } | undefined {
  const attributes: Attribute[] = [];
  let at = from;
  while (at < page.length) {
    at += take(page, at, SPACE).length;
    if (page[at] === '>') return { attributes, end: at + 1 };
    const key = take(page, at, ATTRIBUTE_NAME);
    at += Math.max(1, key.length);
    if (key === '') continue;
    const equals = at + take(page, at, SPACE).length;
    if (page[equals] !== '=') {
      at = equals;
      continue;
    }
    const start = equals + 1 + take(page, equals + 1, SPACE).length;
    const quote = page[start];
    if (quote === '"' || quote === "'") {
      const close = page.indexOf(quote, start + 1);
      if (close < 0) return undefined;
      attributes.push({ key, value: page.slice(start + 1, close), start, end: close + 1 });
      at = close + 1;
    } else {
      const value = take(page, start, BARE_VALUE);
      attributes.push({ key, value, start, end: start + value.length });
      at = start + value.length;
    }
  }
  return undefined;
}

/** The match of a sticky expression at a position; '' if there is none. */
function take(page: string, at: number, expression: RegExp): string {
  expression.lastIndex = at;
  return expression.exec(page)?.[0] ?? '';
}

/** The location of a backend's pages for the client. */
export interface Place {
  /** The prefix of the backend's paths: `/api/v1/namespaces/a/services/b/proxy`; '' when the paths are the same. */
  readonly prefix: string;
  /** `host:port` of the backend. */
  readonly backend: string;
  /** The Host header of the client. */
  readonly asked: string;
}

/** Rewrites a link of a backend. A link to the backend itself goes through the proxy. */
export function rewriteLink(link: string, { prefix, backend, asked }: Place): string {
  const match = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(.*)$/s.exec(link);
  if (match === null) return link;
  const [, , host = '', path = '', rest = ''] = match;
  const isElsewhere = host !== '' && host !== backend && host !== asked;
  if (isElsewhere || !path.startsWith('/')) return link;
  const isAsked = host !== '' && host === asked;
  const origin = isAsked ? link.slice(0, link.length - path.length - rest.length) : '';
  return `${origin}${path.startsWith(prefix) ? path : joined(prefix, path)}${rest}`;
}

/** Joins prefix and path. Resolves `.` and `..` and keeps a slash at the end. */
function joined(prefix: string, path: string): string {
  const parts: string[] = [];
  for (const part of `${prefix}/${path}`.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  const clean = `/${parts.join('/')}`;
  return path.endsWith('/') && clean !== '/' ? `${clean}/` : clean;
}
