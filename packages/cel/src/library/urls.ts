import { declareFunction as declare, type FunctionDeclaration } from '../environment/function-declaration.ts';
import { type CelType, structOf } from '../types.ts';
import { ArrayList, EntryMap } from '../values/collections.ts';
import { CelError, CelOpaque, type CelResult, type CelValue } from '../values/value.ts';

interface UrlParts {
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;
}

class UrlValue extends CelOpaque {
  readonly type: CelType = structOf('kubernetes.URL');
  readonly parts: UrlParts;
  readonly text: string;

  constructor(text: string, parts: UrlParts) {
    super();
    this.text = text;
    this.parts = parts;
  }

  equals(other: CelOpaque): boolean {
    return other instanceof UrlValue && other.text === this.text;
  }
}

/** The parts of an absolute URL or path, or the error message of Go's net/url. */
export function parseRequestUri(text: string): { readonly parts: UrlParts } | { readonly message: string } {
  const bad = (why: string) => ({ message: `parse ${JSON.stringify(text)}: ${why}` });
  if (text === '') return bad('empty url');

  if (/[\x00-\x1f\x7f]/.test(text)) return bad('net/url: invalid control character in URL');
  if (text.startsWith(':')) return bad('missing protocol scheme');
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text)?.[1] ?? '';
  const rest = scheme === '' ? text : text.slice(scheme.length + 1);
  if (!rest.startsWith('/')) return scheme === '' ? bad('invalid URI for request') : bad('invalid URI for request');
  const [before = '', query = ''] = splitOnce(rest.replace(/#.*$/s, ''), '?');
  const authority = before.startsWith('//') && (scheme !== '' || !before.startsWith('///'));
  const [host, path] = authority ? splitAuthority(before.slice(2)) : ['', before];
  const escape = /%(?![0-9a-fA-F]{2}).{0,2}/.exec(host + path);
  if (escape !== null) return bad(`invalid URL escape ${JSON.stringify(escape[0])}`);
  const bare = host.slice(host.lastIndexOf('@') + 1);
  const port = /:([^:\]]*)$/.exec(bare)?.[1];
  if (port !== undefined && !/^\d*$/.test(port)) return bad(`invalid port ${JSON.stringify(`:${port}`)} after host`);
  const character = /[ "<>\\^`{|}]/.exec(bare)?.[0];
  if (character !== undefined) return bad(`invalid character ${JSON.stringify(character)} in host name`);
  return { parts: { scheme: scheme.toLowerCase(), host: bare, path, query } };
}

function splitOnce(text: string, separator: string): readonly [string, string] {
  const index = text.indexOf(separator);
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + 1)];
}

function splitAuthority(text: string): readonly [string, string] {
  const slash = text.indexOf('/');
  return slash < 0 ? [text, ''] : [text.slice(0, slash), text.slice(slash)];
}

function toUrl(value: CelValue): CelResult {
  const text = value as string;
  const parsed = parseRequestUri(text);
  if ('message' in parsed) return new CelError(`URL parse error during conversion from string: ${parsed.message}`);
  return new UrlValue(text, parsed.parts);
}

const URL_TYPE = 'kubernetes.URL';
const read = (get: (parts: UrlParts) => CelResult) => (value: CelValue) => get((value as UrlValue).parts);

const hostname = ({ host }: UrlParts) => host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1');

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    return text;
  }
}

function queryOf({ query }: UrlParts): CelResult {
  const held = new Map<string, string[]>();
  for (const pair of query.split('&')) {
    if (pair === '' || pair.includes(';')) continue;
    const [key, value] = splitOnce(pair, '=');
    const values = held.get(decode(key)) ?? [];
    values.push(decode(value));
    held.set(decode(key), values);
  }
  return EntryMap.of([...held].map(([key, values]) => [key, new ArrayList(values)]));
}

/** Characters that are not escaped in a path. */
const escapePath = ({ path }: UrlParts) => encodeURI(decodePath(path)).replace(/[?#]/g, encodeURIComponent);

function decodePath(path: string): string {
  try {
    return decodeURI(path);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    return path;
  }
}

/** Functions over URLs. */
export const URLS: readonly FunctionDeclaration[] = [
  declare('url', ['string_to_url', `(string) -> ${URL_TYPE}`, toUrl]),
  declare('isURL', ['is_url_string', '(string) -> bool', (text) => 'parts' in parseRequestUri(text as string)]),
  declare('getScheme', ['url_get_scheme', `${URL_TYPE}.() -> string`, read(({ scheme }) => scheme)]),
  declare('getHost', ['url_get_host', `${URL_TYPE}.() -> string`, read(({ host }) => host)]),
  declare('getHostname', ['url_get_hostname', `${URL_TYPE}.() -> string`, read(hostname)]),
  declare('getPort', ['url_get_port', `${URL_TYPE}.() -> string`, read(({ host }) => /:(\d*)$/.exec(host)?.[1] ?? '')]),
  declare('getEscapedPath', ['url_get_escaped_path', `${URL_TYPE}.() -> string`, read(escapePath)]),
  declare('getQuery', ['url_get_query', `${URL_TYPE}.() -> map(string, list(string))`, read(queryOf)]),
];
