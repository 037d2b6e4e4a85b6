import type { PublishedApis } from '../discovery/published-apis.ts';
import type { DocumentOptions } from './group-version-documents.ts';
import type { Exchange } from '../../http/exchange.ts';
import { header } from '../../http/exchange.ts';
import { sendBytes, sendJson } from '../../http/respond.ts';
import { OpenApiDocuments } from './openapi-documents.ts';

const ROOT = '/openapi/v3';

/** The protobuf form of v2: what kubectl before 1.28 asks for. */
const V2_TYPES = /application\/com\.github\.proto-openapi\.spec\.v2@v1\.0\+protobuf/;

/** Serves the OpenAPI v3 index and its documents, and v2. They follow what is served. */
export function createOpenApiHandler(
  now: PublishedApis,
  options: DocumentOptions,
): (exchange: Exchange) => Promise<boolean> {
  let documents = OpenApiDocuments.create(options);
  let generation: number | undefined;
  return async (exchange) => {
    if (generation !== now.generation) {
      generation = now.generation;
      documents = documents.following(now.served().definitions, now.openApis());
    }
    const { path, query, req, res } = exchange;
    if (path === ROOT || path === `${ROOT}/`) {
      await sendJson(exchange, 200, await documents.index());
      return true;
    }
    if (path === '/openapi/v2') {
      await sendV2(exchange, documents);
      return true;
    }
    const document = path.startsWith(`${ROOT}/`) ? documents.get(path.slice(ROOT.length + 1)) : undefined;
    if (document === undefined) return false;
    const etag = `"${document.hash}"`;
    res.setHeader('etag', etag);
    res.setHeader('vary', 'Accept');
    // A URL that names the hash of what it gives may be kept for ever.
    if (query.get('hash') === document.hash) res.setHeader('cache-control', 'public, immutable, max-age=31536000');
    if (header(req, 'if-none-match') === etag) {
      res.statusCode = 304;
      res.end();
      return true;
    }
    await sendBytes(exchange, 200, 'application/json', document.bytes);
    return true;
  };
}

/** Version 2, whole: as protobuf for clients that ask for it, as JSON for all others. */
async function sendV2(exchange: Exchange, documents: OpenApiDocuments): Promise<void> {
  const { req, res } = exchange;
  const isProtobuf = V2_TYPES.test(header(req, 'accept') ?? '');
  const { bytes, hash } = await (isProtobuf ? documents.v2() : documents.v2Json());
  const etag = `"${hash}"`;
  res.setHeader('etag', etag);
  res.setHeader('vary', 'Accept');
  if (header(req, 'if-none-match') === etag) {
    res.statusCode = 304;
    res.end();
    return;
  }
  await sendBytes(exchange, 200, isProtobuf ? 'application/octet-stream' : 'application/json', bytes);
}
