import { isIP } from 'node:net';

const ESCAPE = /%(?![0-9a-fA-F]{2})/;
/** What may not stand in a host as it is. */
const NOT_IN_HOST = /[\x00-\x20#/?@\\^`{|}\x7f]/;

/** Whether a text is a URI, or an absolute path, as Go reads what a request asks for. */
export function isUri(text: string): boolean {
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

/** Only what is not ASCII may be escaped in a host, and `%25`, which begins a zone. */
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
