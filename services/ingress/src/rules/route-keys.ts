/** Keys of routes: a host and a path, as HAProxy looks them up. Nothing else of a user's text reaches its files and commands. */

/** The host of rules without a host. */
export const ANY_HOST = '*';
const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const HOST = new RegExp(`^(\\*\\.)?${LABEL}(\\.${LABEL})*$`);
const MAX_HOST = 253;
/** What a path in a request consists of by RFC 3986. Other characters arrive there percent-encoded. */
const PATH = /^\/[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*$/;
const MAX_PATH = 1024;

/** The host of a rule as its routes have it; undefined where it is none. */
export function routeHost(host: string | undefined): string | undefined {
  if (host === undefined || host === '') return ANY_HOST;
  const lower = host.toLowerCase();
  return lower.length <= MAX_HOST && HOST.test(lower) ? lower : undefined;
}

/** The wildcard that a host is right below, `*.example.com` of `a.example.com`; undefined where there is none. */
export function wildcardAbove(host: string): string | undefined {
  const dot = host.indexOf('.');
  return dot < 0 || host.startsWith('*') ? undefined : `*${host.slice(dot)}`;
}

/** Whether a path can be that of a request. */
export function isRoutablePath(path: string): boolean {
  return path.length <= MAX_PATH && PATH.test(path);
}

/** The key of requests for exactly this path. */
export function exactKey(host: string, path: string): string {
  return `${host}${path}`;
}

/**
 * The key that begins host and path of a request, with a `/` behind it, where the prefix matches by path element: `/a` matches `/a` and
 * `/a/b`, not `/ab`. The longest key that does is the longest prefix.
 */
export function prefixKey(host: string, path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end -= 1;
  return `${host}${path.slice(0, end)}/`;
}
