/** Where a backend's pages are for the client. */
export interface Place {
  /** What stands before the backend's own paths: `/api/v1/namespaces/a/services/b/proxy`; '' when they are the same. */
  readonly prefix: string;
  /** `host:port` of the backend. */
  readonly backend: string;
  /** The Host that the client asked. */
  readonly asked: string;
}

/** A link of a backend as the client must follow it: through the proxy when it stays on the backend. */
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

/** A path below the prefix, `.` and `..` resolved inside of it, and a slash at its end kept. */
function joined(prefix: string, path: string): string {
  const parts: string[] = [];
  for (const part of `${prefix}/${path}`.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  const clean = `/${parts.join('/')}`;
  return path.endsWith('/') && clean !== '/' ? `${clean}/` : clean;
}
