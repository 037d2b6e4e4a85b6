import type { Exchange } from '../rest/exchange.ts';
import { header } from '../rest/exchange.ts';
import { sendBytes, sendJson } from '../rest/respond.ts';
import type { OpenApiDocuments } from './openapi-documents.ts';

const ROOT = '/openapi/v3';

/** Serves the OpenAPI v3 index and its documents. There is no v2: clients that know v3 do without. */
export function createOpenApiHandler(documents: OpenApiDocuments): (exchange: Exchange) => Promise<boolean> {
  return async (exchange) => {
    const { path, query, req, res } = exchange;
    if (path === ROOT || path === `${ROOT}/`) {
      await sendJson(exchange, 200, documents.index());
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
