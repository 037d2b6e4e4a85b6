import type { Clock, NewUid, Random } from '@gantry/base';
import { decodeProtobuf, resources } from '@gantry/api';
import type { Logger, Metrics, TlsSource } from '@gantry/service';
import type { Router } from 'express';
import type { AggregatedApis } from '../aggregation/aggregated-handler.ts';
import type { PublishedApis } from '../aggregation/published-apis.ts';
import { createAuthenticator } from '../auth/authenticator.ts';
import type { AccessDecider, PathAuthorizer } from '../auth/authorizer.ts';
import type { ObjectLookup } from '../auth/object-lookup.ts';
import type { SigningKeys } from '../auth/signing-keys.ts';
import type { TokenAuthenticator } from '../auth/token-authenticator.ts';
import type { WatchCache } from '../cache/index.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { Authorizer, Driver } from '../driver.ts';
import { createAgentLogs } from '../log-proxy/agent-logs.ts';
import { createLogHandler } from '../log-proxy/log-handler.ts';
import { createDescribe } from '../openapi/descriptions.ts';
import { createProxyHandler } from '../proxy/proxy-handler.ts';
import type { HealthChecks } from './health-routes.ts';
import { createPathHandlers } from './path-handlers.ts';
import { createRequestMetrics } from './request-metrics.ts';
import { createResourceHandler } from './resource-handler.ts';
import { createRestDoor } from './rest-door.ts';
import { createTables } from './table.ts';

/** How long a request for what is not served yet waits to hear of it. */
const CATCH_UP_MS = 1000;

export interface RouterOptions {
  readonly catalogue: Catalogue;
  readonly aggregated: AggregatedApis;
  readonly published: PublishedApis;
  readonly cache: WatchCache;
  readonly driver: Driver;
  readonly lookup: ObjectLookup;
  readonly authorizer: Authorizer & PathAuthorizer & AccessDecider;
  readonly tls: TlsSource;
  readonly signingKeys: SigningKeys;
  readonly tokens: readonly TokenAuthenticator[];
  readonly checks: HealthChecks;
  readonly clock: Clock;
  readonly random: Random;
  readonly newUid: NewUid;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Aborted when lasting streams must end. */
  readonly stopping: AbortSignal;
}

/** Everything behind the REST port. */
export function createRouter(options: RouterOptions): Router {
  const { driver, catalogue, lookup, authorizer, clock, random, newUid, logger, signingKeys } = options;
  const metrics = createRequestMetrics(options.metrics);
  const describe = createDescribe(resources);
  const agents = createAgentLogs(options.tls, clock);
  return createRestDoor({
    authenticate: createAuthenticator(options.tokens),
    authorizer,
    catalog: {
      find: (group, version, resource) => catalogue.find({ group, version, resource }),
      hasGroup: (group) => catalogue.hasGroup(group),
    },
    catchUp: (signal) => options.cache.catchUp(CATCH_UP_MS, signal),
    resources: createResourceHandler({
      driver,
      clock,
      random,
      logger,
      tables: createTables(clock, describe),
      decodeProtobuf: (bytes) => decodeProtobuf(bytes, { apiVersion: 'meta.k8s.io/v1', kind: 'DeleteOptions' }),
      onWatch: (resource) => metrics.watching(resource),
    }),
    aggregated: options.aggregated,
    logs: createLogHandler({ driver, authorizer, lookup, agents, clock }),
    proxies: createProxyHandler({ driver, tls: options.tls, random }),
    paths: createPathHandlers({
      describe,
      published: options.published,
      checks: options.checks,
      metrics: options.metrics,
      signingKeys,
    }),
    metrics,
    clock,
    newUid,
    logger,
    stopping: options.stopping,
  });
}
