import type { RequestHandler } from 'express';
import type { Exchange } from './exchange.ts';
import { methodNotAllowed } from './respond.ts';

/** The content of `res.locals` for page handlers. */
export interface PageLocals extends Record<string, unknown> {
  readonly exchange: Exchange;
  /** Called when the response is complete. */
  readonly served: () => void;
}

/** A handler of a page. A page is a path that is not a resource and does not need to be fast. */
export type Page = RequestHandler<Readonly<Record<string, string>>, unknown, unknown, unknown, PageLocals>;

/** Paths are case-sensitive. A path with a slash at the end is a different path. */
export const PAGE_ROUTING = { caseSensitive: true, strict: true } as const;

/**
 * Creates a page handler. `serve` gets the exchange and the path parameters. It returns 'next' to pass the request to later routes. Errors
 * become a Status. Register pages with `all`: for other routes, express handles HEAD and OPTIONS itself.
 */
export function page(
  serve: (exchange: Exchange, params: Readonly<Record<string, string>>) => Promise<void | 'next'>,
): Page {
  return async (req, res, next) => {
    const { exchange, served } = res.locals;
    if ((await serve(exchange, req.params)) === 'next') next();
    else served();
  };
}

/** Rejects all methods except GET. */
export const onlyGet: Page = ({ method }, _res, next) => {
  if (method !== 'GET') throw methodNotAllowed();
  next();
};
