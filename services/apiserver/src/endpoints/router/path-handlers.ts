import type { Describe } from '@gantry/apimachinery';
import type { Metrics } from '@gantry/service';
import { ISSUER } from '../../auth/authn/service-account-claims.ts';
import { jsonWebKeySet, openIdConfiguration, type SigningKeySource } from '../../auth/authn/signing-keys.ts';
import { createDiscoveryHandler } from '../discovery/discovery-routes.ts';
import type { PublishedApis } from '../discovery/published-apis.ts';
import { type Served, servedGroups } from '../discovery/served-groups.ts';
import { createOpenApiHandler } from '../openapi/openapi-routes.ts';
import { openApiVersion, versionInfo } from '../version.ts';
import { type Exchange, header } from '../../http/exchange.ts';
import { type HealthChecks, handleHealth } from './health-routes.ts';
import { requireRouted } from '../../http/negotiate.ts';
import { methodNotAllowed, sendBytes, sendJson } from '../../http/respond.ts';
import type { PathHandler } from './http-endpoint.ts';

interface PathHandlerOptions {
  readonly published: PublishedApis;
  readonly checks: HealthChecks;
  readonly metrics: Metrics;
  readonly signingKeys: SigningKeySource;
  readonly describe: Describe;
}

/** Paths that a router serves, which knows their method; handlers of their own take any. */
const ROUTED: ReadonlySet<string> = new Set(['/version', '/.well-known/openid-configuration', '/openid/v1/jwks']);

/** The index and the version are always indented, for readers. */
function sendIndented(exchange: Exchange, value: unknown): Promise<void> {
  return sendBytes(exchange, 200, 'application/json', Buffer.from(JSON.stringify(value, undefined, 2)));
}

/** Everything that is served and is no resource. */
export function createPathHandlers(options: PathHandlerOptions): readonly PathHandler[] {
  const { published, checks, metrics, signingKeys } = options;
  const fixed: Readonly<Record<string, PathHandler>> = {
    '/': async (exchange) => {
      await sendIndented(exchange, { paths: rootPaths(published.served()) });
      return true;
    },
    '/version': async (exchange) => {
      await sendIndented(exchange, versionInfo());
      return true;
    },
    '/metrics': async (exchange) => {
      const { contentType, text } = await metrics.render();
      await sendBytes(exchange, 200, contentType, Buffer.from(text));
      return true;
    },
    '/.well-known/openid-configuration': async (exchange) => {
      await sendJson(exchange, 200, openIdConfiguration(signingKeys.current(), ISSUER));
      return true;
    },
    '/openid/v1/jwks': async (exchange) => {
      await sendJson(exchange, 200, await jsonWebKeySet(signingKeys.current()), 'application/jwk-set+json');
      return true;
    },
  };
  return [
    async (exchange) => {
      const path = exchange.path.replace(/^(\/version)\/$/, '$1');
      const handler = Object.hasOwn(fixed, path) ? fixed[path] : undefined;
      if (handler === undefined) return false;
      if (ROUTED.has(path)) {
        if (exchange.method !== 'GET') throw methodNotAllowed();
        if (path === '/version') requireRouted(header(exchange.req, 'accept'), ['application/json']);
      }
      return handler(exchange);
    },
    (exchange) => handleHealth(exchange, checks),
    createDiscoveryHandler(published),
    createOpenApiHandler(published, { version: openApiVersion(), describe: options.describe }),
  ];
}

function rootPaths(served: Served): readonly string[] {
  const paths = servedGroups(served)
    .filter(({ name }) => name !== '')
    .flatMap(({ name, versions }) => [`/apis/${name}`, ...versions.map(({ version }) => `/apis/${name}/${version}`)]);
  const others = ['/healthz', '/livez', '/metrics', '/openapi/v3', '/openid/v1/jwks', '/readyz', '/version'];
  return ['/.well-known/openid-configuration', '/api', '/api/v1', '/apis', ...paths.sort(), ...others];
}
