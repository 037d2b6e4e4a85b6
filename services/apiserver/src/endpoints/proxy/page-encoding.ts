import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflateRaw } from 'node:zlib';

/** Links of larger compressed pages are not rewritten. */
const MAX_COMPRESSED_BYTES = 1024 * 1024;
/** Links of compressed pages that are larger when they are decompressed are not rewritten. */
const MAX_DECOMPRESSED_BYTES = 8 * 1024 * 1024;
/** Links of pages that grow more than this when they are decompressed are not rewritten. Long tables of HTML grow 30 times. */
const MAX_RATIO = 100;

const DECODERS = {
  gzip: createGunzip,
  deflate: createInflateRaw,
  br: createBrotliDecompress,
} as const;

/** A page; some of it may have been read. */
export type Page =
  /** The decompressed page. */
  | { readonly plain: Readable; readonly parts?: undefined }
  /** The page is not to be changed. `parts` have been read; the response has the rest. */
  | { readonly plain?: undefined; readonly parts: readonly Buffer[] };

/** Decompresses a page, unless its encoding is unknown or it is too large. The page is not in memory as a whole. */
export async function openPage(response: Readable & { readonly headers: IncomingHttpHeaders }): Promise<Page> {
  const encoding = response.headers['content-encoding'] ?? '';
  if (encoding === '') return { plain: response };
  if (!isKnown(encoding)) return { parts: [] };
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response.iterator({ destroyOnReturn: false })) {
    parts.push(part as Buffer);
    size += (part as Buffer).length;
    if (size > MAX_COMPRESSED_BYTES) return { parts };
  }
  const compressed = Buffer.concat(parts);
  if (size === 0 || (await isTooLarge(compressed, encoding))) return { parts };
  return { plain: decompress(compressed, encoding) };
}

type Encoding = keyof typeof DECODERS;

function isKnown(encoding: string): encoding is Encoding {
  return Object.hasOwn(DECODERS, encoding);
}

function decompress(bytes: Buffer, encoding: Encoding): Readable {
  const decoder = DECODERS[encoding]();
  decoder.end(bytes);
  return decoder;
}

/** Decompresses the page without keeping it: it cannot be passed on unchanged when a part of it has been sent. */
async function isTooLarge(bytes: Buffer, encoding: Encoding): Promise<boolean> {
  const limit = Math.min(MAX_DECOMPRESSED_BYTES, MAX_RATIO * bytes.length);
  let size = 0;
  for await (const part of decompress(bytes, encoding)) {
    size += (part as Buffer).length;
    if (size > limit) return true;
  }
  return false;
}
