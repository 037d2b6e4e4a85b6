import type { RequestHandler } from 'express';
import type { Exchange } from './exchange.ts';
import { methodNotAllowed } from './respond.ts';

/** What a page's handlers find in `res.locals`. */
export interface PageLocals extends Record<string, unknown> {
  readonly exchange: Exchange;
  /** Called when the response is complete. */
  readonly served: () => void;
}

/** A handler of a page: a path that is no resource and does not have to be fast. */
export type Page = RequestHandler<Readonly<Record<string, string>>, unknown, unknown, unknown, PageLocals>;

/** Paths are case-sensitive; one that ends with a slash is another one. */
export const PAGE_ROUTING = { caseSensitive: true, strict: true } as const;

/**
 * Serves a page by its exchange and the parameters of its path; 'next' leaves the request to the routes below. What is thrown becomes a
 * Status. Register pages with `all`, since express answers HEAD and OPTIONS by itself for other routes.
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

/** Refuses all methods but GET. */
export const onlyGet: Page = ({ method }, _res, next) => {
  if (method !== 'GET') throw methodNotAllowed();
  next();
};
