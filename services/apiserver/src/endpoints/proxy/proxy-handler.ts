import { posix } from 'node:path';
import { ADMINISTRATORS, StatusError } from '@gantry/objects';
import {
  type RegistryReader,
  type RegistryStreams,
  type RequestContext,
  requestContext,
  streamOptions,
} from '../../registry/index.ts';
import { Places } from '@gantry/service';
import type { Turns } from '../../turns.ts';
import { encodePath, type Exchange } from '../../http/exchange.ts';
import type { AuthenticatedExchange } from '../authenticated-exchange.ts';
import { type ResourceRoute, verbOfMethod } from '../request-info.ts';
import { setCommonHeaders } from '../../http/respond.ts';
import { type BackendOptions, findBackend } from './find-backend.ts';
import { forward, UnreachableError } from './forward.ts';
import { NOT_AUDITED } from '../../audit/index.ts';
import { upgradeOf } from '@gantry/streams';

/** Serves the proxy subresources of pods, services and nodes. */
export type ProxyHandler = (exchange: AuthenticatedExchange, route: ResourceRoute) => Promise<void>;

interface ProxyOptions extends BackendOptions {
  readonly registry: RegistryReader & RegistryStreams;
  /** Rewrites links of pages. */
  readonly turns: Turns;
}

/** How many compressed pages of 1 MiB may be in memory: in total and per user. Links of further ones are not rewritten. */
const COMPRESSED_PAGES = { max: 128, maxOfAddress: 32 };

export function createProxyHandler(options: ProxyOptions): ProxyHandler {
  const places = new Places(COMPRESSED_PAGES);
  return async (exchange, route) => {
    const { method, query } = exchange;
    const { definition, namespace, name } = route;
    const context = requestContext(exchange);
    const target = { definition, namespace, name, subresource: 'proxy' };
    const path = pathBehind(exchange.path, definition.namespaced ? 8 : 6);
    const asked = new URLSearchParams(path === '' ? {} : { path });
    await options.registry.connect(context, target, verbOfMethod(method), streamOptions(target, asked));
    if (query.has('dryRun')) throw StatusError.badRequest('dryRun is not supported');
    const own: RequestContext = {
      ...context,
      user: { ...context.user, groups: [ADMINISTRATORS] },
      audit: NOT_AUDITED,
    };
    const backend = await findBackend(options, own, { resource: definition.resource, namespace, id: name });
    const search = /\?.*$/s.exec(exchange.req.url ?? '')?.[0] ?? '';
    if (path === '' && upgradeOf(exchange.req) === undefined && (method === 'GET' || method === 'HEAD')) {
      redirect(exchange, `${encodePath(exchange.path)}/${search}`);
      return;
    }
    const prefix = exchange.path.endsWith(path) ? exchange.path.slice(0, exchange.path.length - path.length) : '';
    try {
      const target = `${encodePath(path === '' ? '/' : path)}${search}`;
      const placeForPage = () => places.take(context.user.name);
      await forward(exchange, { backend, target, prefix, turns: options.turns, placeForPage, headers: {} });
    } catch (error) {
      if (error instanceof UnreachableError) throw StatusError.unavailable(error.message);
      throw error;
    }
  };
}

/** The cleaned path after `…/proxy`. It cannot lead above its root. */
function pathBehind(path: string, depth: number): string {
  const rest = path.replace(/\/$/, '').split('/').slice(depth).join('/');
  if (rest === '') return path.endsWith('/') ? '/' : '';
  return posix.normalize(`/${rest}${path.endsWith('/') ? '/' : ''}`);
}

/** Redirects to the root with a slash at its end, so that relative links in pages work. */
function redirect(exchange: Exchange, location: string): void {
  const { res } = exchange;
  res.statusCode = 301;
  res.setHeader('location', location);
  setCommonHeaders(exchange);
  res.end();
}
