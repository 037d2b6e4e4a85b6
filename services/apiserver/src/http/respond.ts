import { promisify } from 'node:util';
import { gzip as gzipCallback } from 'node:zlib';
import { encodeProtobuf } from '@gantry/apimachinery';
import { goJson, type Status, StatusError } from '@gantry/objects';
import { type Exchange, header } from './exchange.ts';
import { formatYaml } from './go-yaml.ts';
import { acceptedForStatus, type MediaType } from './negotiate.ts';

const gzip = promisify(gzipCallback);

/** Smaller answers are not worth the CPU: Kubernetes' threshold. */
const GZIP_FROM = 128 * 1024;

/** Sends a whole answer, with warnings, and compressed when the client asks and it is big. */
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

/** Sends a document that clients keep: only its head to who has it, by its hash. */
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

/** Whether the client reads gzip: named in Accept-Encoding and not refused by `q=0`. */
export function acceptsGzip({ req }: Exchange): boolean {
  return (header(req, 'accept-encoding') ?? '').split(',').some((clause) => {
    const [coding = '', ...parameters] = clause.split(';').map((part) => part.trim().toLowerCase());
    return coding === 'gzip' && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

/** Headers of every answer: no caching, and the warnings so far. */
export function setCommonHeaders(exchange: Exchange): void {
  if (!exchange.res.hasHeader('cache-control')) exchange.res.setHeader('cache-control', 'no-cache, private');
  if (exchange.warnings.size > 0) exchange.res.setHeader('warning', formatWarnings(exchange.warnings));
}

/** All texts together may be this long, before each is cut to the length of an item. */
const MAX_WARNINGS = 4096;
const MAX_WARNING = 256;

/** `299 - "text"` for each text that can stand in a header: cut when there is too much of them, the last ones dropped. */
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

/** Quotes and backslashes escaped. The header's bytes are UTF-8, which Node.js is given byte by byte. */
function formatWarning(text: string): string {
  return Buffer.from(`299 - "${text.replace(/[\\"]/g, (c) => `\\${c}`)}"`).toString('latin1');
}

/** Plain text, as health checks and unknown paths answer. */
export function sendText(exchange: Exchange, code: number, text: string): Promise<void> {
  exchange.res.setHeader('x-content-type-options', 'nosniff');
  return sendBytes(exchange, code, 'text/plain; charset=utf-8', Buffer.from(text));
}

/** Any JSON value in a form that needs no sharing: discovery, statuses, tables. */
export function sendJson(
  exchange: Exchange,
  code: number,
  value: unknown,
  contentType: string = 'application/json',
): Promise<void> {
  return sendBytes(exchange, code, contentType, encodeJson(exchange, value, 'application/json'));
}

/** JSON or YAML bytes of a value, indented when the client wants to read it. */
export function encodeJson(exchange: Exchange, value: unknown, mediaType: MediaType): Buffer {
  if (mediaType === 'application/yaml') return Buffer.from(formatYaml(value));
  if (wantsPretty(exchange)) return Buffer.from(goJson(value, 2));
  return Buffer.from(`${goJson(value)}\n`);
}

/** Whether `?pretty` or the kind of client asks for indented JSON. */
export function wantsPretty(exchange: Exchange): boolean {
  const pretty = exchange.query.get('pretty');
  if (pretty !== null) return pretty !== '0' && pretty.toLowerCase() !== 'false';
  return /^(curl|Wget|Mozilla\/5\.0)/.test(header(exchange.req, 'user-agent') ?? '');
}

/** A Status as the whole answer, in JSON for who accepts no other form. */
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

/** The answer to a known group's path where nothing is. */
export function notFoundResource(): StatusError {
  return new StatusError('NotFound', 'the server could not find the requested resource', { details: {} });
}

/** The answer to a method that the resource does not take. */
export function methodNotAllowed(): StatusError {
  return new StatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {
    details: {},
  });
}

/** What stands where nothing is served at all. */
export const PAGE_NOT_FOUND = '404 page not found\n';
