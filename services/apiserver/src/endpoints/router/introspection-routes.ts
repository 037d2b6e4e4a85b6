import { Router } from 'express';
import { onlyGet, page, PAGE_ROUTING } from '../../http/page.ts';
import { sendJson } from '../../http/respond.ts';
import type { Introspection } from '../../introspection/introspection.ts';

const ROOT = '/gantry/v1';
const FILTERS = ['component', 'loop', 'node', 'namespace', 'pod'];

/** `/gantry/v1/...`: what the control plane does (docs/introspection.md). Without an introspection there are no such paths. */
export function introspectionRoutes(introspection: Introspection | undefined): Router {
  const router = Router(PAGE_ROUTING);
  if (introspection === undefined) return router;
  const views = Object.entries(introspection.views);
  const paths = views.map(([name]) => `${ROOT}/${name}`);
  router.all(
    ROOT,
    onlyGet,
    page((exchange) => sendJson(exchange, 200, { paths })),
  );
  for (const [name, view] of views) {
    router.all(
      `${ROOT}/${name}`,
      onlyGet,
      page(async (exchange) => {
        const wanted = FILTERS.map((filter) => [filter, exchange.query.get(filter) ?? undefined] as const);
        await sendJson(exchange, 200, await view(Object.fromEntries(wanted), exchange.signal));
      }),
    );
  }
  return router;
}
