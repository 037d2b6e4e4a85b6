import type { Pieces } from '@gantry/base';
import type { Turns } from '../../turns.ts';

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

/** Elements whose content is text, up to their end tag: what looks like a link in a script is none. As in Kubernetes' tokenizer. */
const RAW: ReadonlySet<string> = new Set([
  'iframe',
  'noembed',
  'noframes',
  'noscript',
  'plaintext',
  'script',
  'style',
  'textarea',
  'title',
  'xmp',
]);

/** Rewrites the links of a page to go through the proxy, while the page arrives. */
export async function* rewritePage(
  page: AsyncIterable<Buffer>,
  place: Place,
  turns: Turns,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const rewriter = new PageRewriter(place);
  for await (const bytes of page) yield await turns.run(() => rewriter.rewrite(bytes), signal);
  yield rewriter.end();
}

/** Longer links are passed on unchanged. They contain data: `data:image/png;base64,...`. */
const MAX_LINK_CHARS = 64 * 1024;
/** The number of characters that are read before other work may run. */
const PIECE_CHARS = 4096;
/** No element and no key in LINKS is longer. */
const MAX_NAME_CHARS = 16;

const LETTER = /[A-Za-z]/;
// HTML's white space. A page is read byte by byte, so other spaces of JavaScript's may be parts of a character.
const SPACES = /[ \t\n\f\r]*/y;
const ELEMENT = /[^ \t\n\f\r/>]*/y;
const KEY = /[^ \t\n\f\r=>/]*/y;
const FIRST_OF_KEY = /=?[^ \t\n\f\r=>/]*/y;
const END_TAG = /[^ \t\n\f\r/><]*/y;
const BARE_VALUE = /[^ \t\n\f\r>]*/y;

type State =
  | 'text'
  | 'raw text'
  | 'raw text after <'
  | 'raw text after </'
  | 'after <'
  | 'after <!'
  | 'declaration'
  | 'comment'
  | 'element'
  | 'before a key'
  | 'key'
  | 'after a key'
  | 'before a value'
  | 'value';

/** Reads each character once and keeps at most one link, so that a malicious page makes it neither slow nor large. */
export class PageRewriter {
  readonly #place: Place;
  #state: State = 'text';
  /** Consecutive hyphens of a comment, or of its beginning. */
  #hyphens = 0;
  /** The element in RAW that has begun; '' outside of one. */
  #raw = '';
  /** The attributes of the element that are links. */
  #links: readonly string[] = [];
  /** The part of the name of an element or a key that has been read. */
  #name = '';
  /** The quotation mark around the value; '' without one. */
  #quote = '';
  /** The part of a link that has been read; undefined elsewhere. */
  #link: string | undefined;

  constructor(place: Place) {
    this.#place = place;
  }

  /** The next bytes of the page, rewritten. */
  *rewrite(bytes: Buffer): Pieces<Buffer> {
    const out: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += PIECE_CHARS) {
      if (at > 0) yield;
      out.push(Buffer.from(this.#read(bytes.toString('latin1', at, at + PIECE_CHARS)), 'latin1'));
    }
    return Buffer.concat(out);
  }

  /** The rest, if the page has ended within a link. */
  end(): Buffer {
    return Buffer.from(this.#releaseLink(), 'latin1');
  }

  #read(text: string): string {
    let out = '';
    for (let at = 0; at < text.length; ) {
      if (this.#state !== 'value') {
        const next = this.#readMarkup(text, at);
        // The quotation mark before a link is kept with the link.
        if (this.#link === undefined) out += text.slice(at, next);
        at = next;
        continue;
      }
      const end = this.#quote === '' ? endOf(BARE_VALUE, text, at) : text.indexOf(this.#quote, at);
      const isOver = end >= 0 && end < text.length;
      out += this.#readValue(text.slice(at, isOver ? end : text.length), isOver);
      at = isOver ? end + this.#quote.length : text.length;
    }
    return out;
  }

  #readValue(part: string, isOver: boolean): string {
    if (isOver) this.#state = 'before a key';
    if (this.#link === undefined) return isOver ? `${part}${this.#quote}` : part;
    this.#link += part;
    if (!isOver) return this.#link.length > MAX_LINK_CHARS ? this.#releaseLink() : '';
    const link = rewriteLink(this.#link.replaceAll('&amp;', '&'), this.#place);
    this.#link = undefined;
    return `"${link.replaceAll('&', '&amp;').replaceAll('"', '&#34;')}"`;
  }

  #releaseLink(): string {
    const kept = this.#link === undefined ? '' : `${this.#quote}${this.#link}`;
    this.#link = undefined;
    return kept;
  }

  /** Reads some markup, or enters another state. Returns the position of the rest. */
  #readMarkup(text: string, at: number): number {
    const char = text[at] ?? '';
    switch (this.#state) {
      case 'text': {
        const start = text.indexOf('<', at);
        return start < 0 ? text.length : this.#enter('after <', start + 1);
      }
      case 'raw text': {
        const start = text.indexOf('<', at);
        return start < 0 ? text.length : this.#enter('raw text after <', start + 1);
      }
      case 'raw text after <':
        return char === '/' ? this.#enter('raw text after </', at + 1) : this.#enter('raw text', at);
      case 'raw text after </': {
        const end = this.#readName(END_TAG, text, at);
        if (end === text.length) return end;
        // Plain text has no end tag.
        const isEnd = text[end] !== '<' && this.#raw !== 'plaintext' && this.#name.toLowerCase() === this.#raw;
        if (isEnd) this.#raw = '';
        return this.#enter(isEnd ? 'text' : 'raw text', end);
      }
      case 'after <':
        if (char === '!') return this.#enter('after <!', at + 1);
        return this.#enter(LETTER.test(char) ? 'element' : char === '?' ? 'declaration' : 'text', at);
      case 'after <!':
        if (char !== '-') return this.#enter('declaration', at);
        if (++this.#hyphens === 2) this.#state = 'comment';
        return at + 1;
      case 'declaration': {
        const end = text.indexOf('>', at);
        return end < 0 ? text.length : this.#enter('text', end + 1);
      }
      case 'comment': {
        if (char === '>' && this.#hyphens >= 2) return this.#enter('text', at + 1);
        this.#hyphens = char === '-' ? this.#hyphens + 1 : 0;
        if (char === '-') return at + 1;
        const hyphen = text.indexOf('-', at);
        return hyphen < 0 ? text.length : hyphen;
      }
      case 'element': {
        const end = this.#readName(ELEMENT, text, at);
        if (end === text.length) return end;
        const element = this.#name.toLowerCase();
        this.#links = LINKS.get(element) ?? [];
        this.#raw = RAW.has(element) ? element : '';
        return this.#enter('before a key', end);
      }
      case 'before a key': {
        const start = endOf(SPACES, text, at);
        if (start === text.length) return start;
        if (text[start] === '>') return this.#enter(this.#raw === '' ? 'text' : 'raw text', start + 1);
        // A slash is skipped.
        return endOf(FIRST_OF_KEY, text, start) === start ? start + 1 : this.#enter('key', start);
      }
      case 'key': {
        const end = this.#readName(this.#name === '' ? FIRST_OF_KEY : KEY, text, at);
        return end === text.length ? end : this.#enter('after a key', end);
      }
      case 'after a key': {
        const end = endOf(SPACES, text, at);
        if (end === text.length) return end;
        return text[end] === '=' ? this.#enter('before a value', end + 1) : this.#enter('before a key', end);
      }
      case 'before a value': {
        const start = endOf(SPACES, text, at);
        if (start > at) return start;
        this.#quote = char === '"' || char === "'" ? char : '';
        if (this.#links.includes(this.#name.toLowerCase())) this.#link = '';
        return this.#enter('value', at + this.#quote.length);
      }
      case 'value':
        return at;
    }
  }

  #enter(state: State, at: number): number {
    this.#state = state;
    this.#hyphens = 0;
    if (state === 'element' || state === 'key' || state === 'raw text after </') this.#name = '';
    return at;
  }

  /** Reads on in a name. Longer names than those in LINKS are not kept. */
  #readName(pattern: RegExp, text: string, at: number): number {
    const end = endOf(pattern, text, at);
    if (this.#name.length <= MAX_NAME_CHARS) this.#name += text.slice(at, end);
    return end;
  }
}

/** The end of the match of a sticky expression at a position. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
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
