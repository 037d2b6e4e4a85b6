import { Router } from 'express';
import { header } from '../../http/exchange.ts';
import { page, PAGE_ROUTING } from '../../http/page.ts';
import { sendJson, sendKept } from '../../http/respond.ts';
import type { PublishedApis } from '../discovery/published-apis.ts';
import type { DocumentOptions } from './group-version-documents.ts';
import { OpenApiDocuments } from './openapi-documents.ts';

/** The protobuf form of OpenAPI v2, which kubectl before 1.28 requests. */
const V2_TYPES = /application\/com\.github\.proto-openapi\.spec\.v2@v1\.0\+protobuf/;

/** Routes of the OpenAPI v3 index, its documents, and OpenAPI v2. The documents change with the served resources. */
export function openApiRoutes(now: PublishedApis, options: DocumentOptions): Router {
  const router = Router(PAGE_ROUTING);
  let documents = OpenApiDocuments.create(options);
  let generation: number | undefined;
  const current = (): OpenApiDocuments => {
    if (generation !== now.generation) {
      generation = now.generation;
      documents = documents.following(now.served().definitions, now.openApis());
    }
    return documents;
  };
  router.all(
    '/openapi/v3{/}',
    page(async (exchange) => sendJson(exchange, 200, await current().index())),
  );
  router.all(
    '/openapi/v3/*path',
    page(async (exchange) => {
      const document = current().get(exchange.path.slice('/openapi/v3/'.length));
      if (document === undefined) return 'next';
      const { query, res } = exchange;
      // A URL with the hash of its document may be cached forever.
      if (query.get('hash') === document.hash) res.setHeader('cache-control', 'public, immutable, max-age=31536000');
      return sendKept(exchange, 'application/json', document);
    }),
  );
  router.all(
    '/openapi/v2',
    page(async (exchange) => {
      // The whole document of version 2: as protobuf for clients that request it, as JSON for all others.
      const isProtobuf = V2_TYPES.test(header(exchange.req, 'accept') ?? '');
      const document = await (isProtobuf ? current().v2() : current().v2Json());
      return sendKept(exchange, isProtobuf ? 'application/octet-stream' : 'application/json', document);
    }),
  );
  return router;
}
