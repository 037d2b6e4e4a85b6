/** Words that begin the dictionary, each after its length (SPDY/3, section 2.6.10.1). */
const WORDS =
  'options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow ' +
  'authorization cache-control connection content-base content-encoding content-language content-length content-location ' +
  'content-md5 content-range content-type date etag expect expires from host if-match if-modified-since if-none-match if-range ' +
  'if-unmodified-since last-modified location max-forwards pragma proxy-authenticate proxy-authorization range referer ' +
  'retry-after server te trailer transfer-encoding upgrade user-agent vary via warning www-authenticate method get status';

/** More words, which contain spaces or signs. */
const MORE = ['200 OK', 'version', 'HTTP/1.1', 'url', 'public', 'set-cookie', 'keep-alive', 'origin'];

/** Statuses without a text. */
const STATUSES =
  '100 101 201 202 205 206 300 302 303 304 305 306 307 402 405 406 407 408 409 410 411 412 413 414 415 416 417 502 504 505';

/** Statuses with a text, parts of dates, and values of headers, without separators. */
const TAIL =
  '203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not ' +
  'Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec ' +
  '00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,' +
  'application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,' +
  'utf-,*,enq=0.';

function withLength(word: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(word.length);
  return Buffer.concat([length, Buffer.from(word, 'latin1')]);
}

/** The zlib dictionary for header blocks of SPDY/3. */
export const HEADER_DICTIONARY: Buffer = Buffer.concat([
  ...[...WORDS.split(' '), ...MORE].map(withLength),
  Buffer.from(STATUSES.replaceAll(' ', '') + TAIL, 'latin1'),
]);
