import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { Exchange } from '../../http/exchange.ts';

/** Headers of a single connection (RFC 9110, 7.6.1). */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Headers that this server has processed and does not forward. */
const CONSUMED = /^(authorization|expect|impersonate-.*|:.*)$/;

/** CORS headers of a backend are dropped, since they would allow other origins to use the cluster's API. */
const CORS = /^access-control-allow-(credentials|headers|methods|origin)$|^access-control-expose-headers$/;

function without(headers: IncomingHttpHeaders, isDropped: (name: string) => boolean): OutgoingHttpHeaders {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  const kept = Object.entries(headers).filter(
    ([name]) => !HOP_BY_HOP.has(name) && !named.includes(name) && !isDropped(name),
  );
  return Object.fromEntries(kept);
}

/** Headers for the backend: those of the client, and the X-Forwarded headers. */
export function requestHeaders({ req, res }: Exchange, forwardedUri: string): OutgoingHttpHeaders {
  const headers = without(req.headers, (name) => CONSUMED.test(name));
  const client = req.socket.remoteAddress ?? '';
  const before = req.headers['x-forwarded-for'];
  const audit = res.getHeader('audit-id');
  return {
    ...headers,
    ...(client === '' ? {} : { 'x-forwarded-for': before === undefined ? client : `${String(before)}, ${client}` }),
    ...(audit === undefined ? {} : { 'audit-id': audit }),
    'x-forwarded-uri': forwardedUri,
  };
}

/** Headers for the client: those of the backend that may be forwarded. */
export function responseHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return without(headers, (name) => CORS.test(name) || name === 'audit-id');
}
