import { promisify } from 'node:util';
import { gzip as gzipCallback } from 'node:zlib';
import { encodeProtobuf } from '@gantry/apimachinery';
import { goJson, type Status, StatusError } from '@gantry/objects';
import { type Exchange, header } from './exchange.ts';
import { formatYaml } from './go-yaml.ts';
import { acceptedForStatus, type MediaType } from './negotiate.ts';

const gzip = promisify(gzipCallback);

/** Smaller responses are not compressed: Kubernetes' threshold. */
const GZIP_FROM = 128 * 1024;

/** Sends a complete response with its warnings. Compresses a large one if the client accepts gzip. */
export async function sendBytes(
  exchange: Exchange,
  code: number,
  contentType: string,
  bytes: Uint8Array,
): Promise<void> {
  const { res } = exchange;
  if (res.headersSent || res.destroyed) return;
  res.statusCode = code;
  res.setHeader('content-type', contentType);
  setCommonHeaders(exchange);
  exchange.onBody(contentType, bytes);
  let body = bytes;
  if (bytes.length >= GZIP_FROM && acceptsGzip(exchange)) {
    body = await gzip(bytes, { level: 1 });
    res.setHeader('content-encoding', 'gzip');
    res.setHeader('vary', 'Accept-Encoding');
  }
  res.setHeader('content-length', body.length);
  res.end(exchange.method === 'HEAD' ? undefined : body);
}

/** Sends a document that clients cache. The response is 304 if `If-None-Match` has the hash of the document. */
export async function sendKept(
  exchange: Exchange,
  contentType: string,
  { bytes, hash }: { readonly bytes: Uint8Array; readonly hash: string },
): Promise<void> {
  const { req, res } = exchange;
  const etag = `"${hash}"`;
  res.setHeader('etag', etag);
  res.setHeader('vary', 'Accept');
  if (header(req, 'if-none-match') !== etag) {
    await sendBytes(exchange, 200, contentType, bytes);
    return;
  }
  res.statusCode = 304;
  res.end();
}

/** Whether the client accepts gzip: Accept-Encoding names it without `q=0`. */
export function acceptsGzip({ req }: Exchange): boolean {
  return (header(req, 'accept-encoding') ?? '').split(',').some((clause) => {
    const [coding = '', ...parameters] = clause.split(';').map((part) => part.trim().toLowerCase());
    return coding === 'gzip' && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

/** Sets the headers of every response: no caching, and the warnings so far. */
export function setCommonHeaders(exchange: Exchange): void {
  if (!exchange.res.hasHeader('cache-control')) exchange.res.setHeader('cache-control', 'no-cache, private');
  if (exchange.warnings.size > 0) exchange.res.setHeader('warning', formatWarnings(exchange.warnings));
}

/** If all texts together are longer than `MAX_WARNINGS` characters, each is truncated to `MAX_WARNING`. */
const MAX_WARNINGS = 4096;
const MAX_WARNING = 256;

/** `299 - "text"` for each text that is valid in a header. If they are too long, they are truncated and the last ones are dropped. */
export function formatWarnings(texts: Iterable<string>): string[] {
  const fit = [...texts].filter((text) => text !== '' && !/\p{Cc}/u.test(text) && text.isWellFormed());
  const total = fit.reduce((sum, text) => sum + lengthOf(text), 0);
  if (total <= MAX_WARNINGS) return fit.map(formatWarning);
  const out: string[] = [];
  let written = 0;
  for (const text of fit) {
    if (written >= MAX_WARNINGS) break;
    const cut = [...text].slice(0, MAX_WARNING).join('');
    out.push(formatWarning(cut));
    written += lengthOf(cut);
  }
  return out;
}

function lengthOf(text: string): number {
  return [...text].length;
}

/** Escapes quotes and backslashes. The header is UTF-8; Node.js needs it as a string with one character per byte. */
function formatWarning(text: string): string {
  return Buffer.from(`299 - "${text.replace(/[\\"]/g, (c) => `\\${c}`)}"`).toString('latin1');
}

/** Sends plain text, for health checks and unknown paths. */
export function sendText(exchange: Exchange, code: number, text: string): Promise<void> {
  exchange.res.setHeader('x-content-type-options', 'nosniff');
  return sendBytes(exchange, code, 'text/plain; charset=utf-8', Buffer.from(text));
}

/** Sends a JSON value that is encoded for this response only: discovery, statuses, tables. */
export function sendJson(
  exchange: Exchange,
  code: number,
  value: unknown,
  contentType: string = 'application/json',
): Promise<void> {
  return sendBytes(exchange, code, contentType, encodeJson(exchange, value, 'application/json'));
}

/** Encodes a value as JSON or YAML. JSON is indented if `wantsPretty`. */
export function encodeJson(exchange: Exchange, value: unknown, mediaType: MediaType): Buffer {
  if (mediaType === 'application/yaml') return Buffer.from(formatYaml(value));
  if (wantsPretty(exchange)) return Buffer.from(goJson(value, 2));
  return Buffer.from(`${goJson(value)}\n`);
}

/** Whether the response should be indented JSON: by `?pretty`, else for curl, wget and browsers, as in Kubernetes. */
export function wantsPretty(exchange: Exchange): boolean {
  const pretty = exchange.query.get('pretty');
  if (pretty !== null) return pretty !== '0' && pretty.toLowerCase() !== 'false';
  return /^(curl|Wget|Mozilla\/5\.0)/.test(header(exchange.req, 'user-agent') ?? '');
}

/** Sends a Status as the response, as JSON if the client accepts no served type. */
export async function sendStatus(exchange: Exchange, status: Status, code: number): Promise<void> {
  if (exchange.res.headersSent) return;
  if (code === 401) exchange.res.setHeader('www-authenticate', 'Bearer realm="kubernetes"');
  const retryAfter = status.details?.retryAfterSeconds ?? (code === 429 || code === 503 ? 1 : 0);
  if (retryAfter > 0) exchange.res.setHeader('retry-after', String(retryAfter));
  const mediaType = acceptedForStatus(header(exchange.req, 'accept'));
  const isProtobuf = mediaType === 'application/vnd.kubernetes.protobuf';
  const bytes = isProtobuf ? encodeProtobuf(status) : encodeJson(exchange, status, mediaType);
  await sendBytes(exchange, code, mediaType, bytes);
}

/** The error of an unknown path in a known group. */
export function notFoundResource(): StatusError {
  return new StatusError('NotFound', 'the server could not find the requested resource', { details: {} });
}

/** The error of a method that the resource does not support. */
export function methodNotAllowed(): StatusError {
  return new StatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {
    details: {},
  });
}

/** The body of the response to paths that are not served. */
export const PAGE_NOT_FOUND = '404 page not found\n';
