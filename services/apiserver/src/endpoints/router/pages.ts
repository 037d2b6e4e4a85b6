import type { Describe } from '@gantry/apimachinery';
import type { Metrics } from '@gantry/service';
import { Router } from 'express';
import { ISSUER } from '../../auth/authn/service-account-claims.ts';
import { jsonWebKeySet, openIdConfiguration, type SigningKeySource } from '../../auth/authn/signing-keys.ts';
import { encodePath, type Exchange, header } from '../../http/exchange.ts';
import { requireRouted } from '../../http/negotiate.ts';
import { onlyGet, page, type Page, PAGE_ROUTING, type PageLocals } from '../../http/page.ts';
import { sendBytes, sendJson } from '../../http/respond.ts';
import { discoveryRoutes } from '../discovery/discovery-routes.ts';
import type { PublishedApis } from '../discovery/published-apis.ts';
import { type Served, servedGroups } from '../discovery/served-groups.ts';
import { openApiRoutes } from '../openapi/openapi-routes.ts';
import type { ResourceIndex } from '../request-info.ts';
import type { Introspection } from '../../introspection/introspection.ts';
import { type HealthChecks, healthRoutes } from './health-routes.ts';
import { introspectionRoutes } from './introspection-routes.ts';
import { answerUnknown } from './not-served.ts';

/** The version of the Kubernetes API. It is defined only here. */
const KUBERNETES_VERSION = { major: 1, minor: 36, patch: 2 } as const;

/** The response of `/version`. */
function versionInfo(): Readonly<Record<string, string>> {
  const { major, minor, patch } = KUBERNETES_VERSION;
  return {
    major: String(major),
    minor: String(minor),
    emulationMajor: String(major),
    emulationMinor: String(minor),
    minCompatibilityMajor: String(major),
    minCompatibilityMinor: String(minor - 1),
    gitVersion: `v${major}.${minor}.${patch}`,
    gitCommit: '0000000000000000000000000000000000000000',
    gitTreeState: 'clean',
    buildDate: '2026-01-01T00:00:00Z',
    goVersion: `node ${process.version}`,
    compiler: 'node',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
}

/** The version in OpenAPI documents. As in Kubernetes, it is the emulated version, without a patch number. */
function openApiVersion(): string {
  const { major, minor } = KUBERNETES_VERSION;
  return `${major}.${minor}`;
}

interface PageOptions {
  readonly published: PublishedApis;
  readonly checks: HealthChecks;
  readonly metrics: Metrics;
  readonly signingKeys: SigningKeySource;
  readonly describe: Describe;
  readonly resourceRegistry: ResourceIndex;
  readonly introspection: Introspection | undefined;
}

/** Serves an authorised request for a path that is not a resource. */
export type ServePage = (exchange: Exchange) => Promise<void>;

/** Creates the pages: all served paths that are not resources. */
export function createPages({
  published,
  checks,
  metrics,
  signingKeys,
  describe,
  resourceRegistry,
  introspection,
}: PageOptions): ServePage {
  const router = Router(PAGE_ROUTING);
  router.all(
    '/',
    indented(() => ({ paths: rootPaths(published.served()) })),
  );
  router.all('/version{/}', onlyGet, onlyJson, indented(versionInfo));
  router.all('/metrics', metricsPage(metrics));
  router.all('/.well-known/openid-configuration', onlyGet, openIdPage(signingKeys));
  router.all('/openid/v1/jwks', onlyGet, jsonWebKeysPage(signingKeys));
  router.use(healthRoutes(checks));
  router.use(introspectionRoutes(introspection));
  router.use(discoveryRoutes(published));
  router.use(openApiRoutes(published, { version: openApiVersion(), describe }));
  router.use(page((exchange) => answerUnknown(exchange, resourceRegistry)));
  return (exchange) =>
    exchange.path.startsWith('/') ? dispatch(router, exchange) : answerUnknown(exchange, resourceRegistry);
}

/** Passes a request to a router. The router gets the authorised path, escaped again, instead of the client's URL. */
function dispatch(router: Router, exchange: Exchange): Promise<void> {
  const { res, path } = exchange;
  const req = Object.assign(exchange.req, { url: encodePath(path) });
  return new Promise((resolve, reject) => {
    const locals: PageLocals = { exchange, served: resolve };
    router(req as Parameters<Router>[0], Object.assign(res, { locals }) as unknown as Parameters<Router>[1], reject);
  });
}

/** A page with indented JSON for all clients. */
function indented(value: () => unknown): Page {
  return page((exchange) =>
    sendBytes(exchange, 200, 'application/json', Buffer.from(JSON.stringify(value(), undefined, 2))),
  );
}

const onlyJson: Page = (req, _res, next) => {
  requireRouted(header(req, 'accept'), ['application/json']);
  next();
};

function metricsPage(metrics: Metrics): Page {
  return page(async (exchange) => {
    const { contentType, text } = await metrics.render();
    await sendBytes(exchange, 200, contentType, Buffer.from(text));
  });
}

function openIdPage(signingKeys: SigningKeySource): Page {
  return page((exchange) => sendJson(exchange, 200, openIdConfiguration(signingKeys.current(), ISSUER)));
}

function jsonWebKeysPage(signingKeys: SigningKeySource): Page {
  return page(async (exchange) =>
    sendJson(exchange, 200, await jsonWebKeySet(signingKeys.current()), 'application/jwk-set+json'),
  );
}

function rootPaths(served: Served): readonly string[] {
  const paths = servedGroups(served)
    .filter(({ name }) => name !== '')
    .flatMap(({ name, versions }) => [`/apis/${name}`, ...versions.map(({ version }) => `/apis/${name}/${version}`)]);
  const others = ['/healthz', '/livez', '/metrics', '/openapi/v3', '/openid/v1/jwks', '/readyz', '/version'];
  return ['/.well-known/openid-configuration', '/api', '/api/v1', '/apis', ...paths.sort(), ...others];
}
