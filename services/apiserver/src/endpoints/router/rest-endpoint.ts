import type { Activities, Clock, NewUid, Random } from '@gantry/base';
import { decodeProtobuf } from '@gantry/apimachinery';
import { resources } from '@gantry/kinds';
import { type Logger, type Metrics, PeerTrust, type Starts } from '@gantry/service';
import type { TlsSource } from '@gantry/tls';
import type { Aggregation } from '../../aggregation/create-aggregation.ts';
import { createAggregatedApis } from '../proxy/aggregated-handler.ts';
import { createPublishedApis } from '../discovery/published-apis.ts';
import type { AuditTrail } from '../../audit/index.ts';
import { createAuthenticator } from '../../auth/authn/authenticator.ts';
import type { AccessDecider, PathAuthorizer } from '../../auth/authz/authorizer.ts';
import type { ObjectLookup } from '../../auth/authz/object-lookup.ts';
import type { SigningKeySource } from '../../auth/authn/signing-keys.ts';
import type { StandingRequests } from '../../auth/authn/standing-requests.ts';
import type { TokenAuthenticator } from '../../auth/authn/token-authenticator.ts';
import type { WatchCache } from '../../cache/index.ts';
import { startGate } from '../../readiness.ts';
import type { ResourceRegistry } from '../../resource-registry.ts';
import type { Turns } from '../../turns.ts';
import type { Registry } from '../../registry/index.ts';
import type { Authorizer } from '../../auth/authz/authorizer.ts';
import type { Introspection } from '../../introspection/introspection.ts';
import { createBodyReader } from '../../http/read-body.ts';
import type { FlowController } from '../../flow-control/flow-controller.ts';
import type { AgentStreams } from '../../agents/agent-streams.ts';
import type { AgentLogs } from '../logs/agent-logs.ts';
import { createLogHandler } from '../logs/log-handler.ts';
import { createDescribe } from '../openapi/descriptions.ts';
import { createProxyHandler } from '../proxy/proxy-handler.ts';
import { createStreamHandler } from '../streams/stream-handler.ts';
import type { HealthChecks } from './health-routes.ts';
import { createPages } from './pages.ts';
import { createRequestMetrics } from '../../meters.ts';
import { createResourceHandler } from '../rest/resource-handler.ts';
import { createHttpEndpoint, type HttpEndpoint } from './http-endpoint.ts';
import { createTables } from '../rest/table.ts';

/** How long a request for an unknown resource waits until the resource registry is up to date. */
const CATCH_UP_MS = 1000;

export interface RestEndpointOptions {
  readonly resourceRegistry: ResourceRegistry;
  readonly aggregation: Aggregation;
  readonly cache: WatchCache;
  readonly registry: Registry;
  readonly lookup: ObjectLookup;
  readonly authorizer: Authorizer & PathAuthorizer & AccessDecider;
  readonly tls: TlsSource;
  /** The client certificate for calls to agents, and the CA of the agents' servers. */
  readonly agentTls: TlsSource;
  readonly agentStreams: AgentStreams;
  readonly agentLogs: AgentLogs;
  readonly signingKeys: SigningKeySource;
  readonly tokens: readonly TokenAuthenticator[];
  /** Authenticates long-running requests again at intervals. */
  readonly standing: StandingRequests;
  readonly checks: HealthChecks;
  /** What the control plane does; absent where that is not shown. */
  readonly introspection: Introspection | undefined;
  readonly clock: Clock;
  readonly turns: Turns;
  readonly random: Random;
  readonly newUid: NewUid;
  readonly audit: AuditTrail;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly activities: Activities;
  readonly flowControl: FlowController;
  readonly starts: Starts;
  /** Aborted when long-running requests must end. */
  readonly stopping: AbortSignal;
  /** Its current signal ends watches. */
  readonly watchesEnd: () => AbortSignal;
}

/** Creates the endpoint of the REST port. */
export function createRestEndpoint(options: RestEndpointOptions): HttpEndpoint {
  const { registry, resourceRegistry, lookup, authorizer, clock, random, newUid, logger, signingKeys } = options;
  const { index, directory } = options.aggregation;
  const metrics = createRequestMetrics(options.metrics);
  const describe = createDescribe(resources);
  return createHttpEndpoint({
    authenticate: createAuthenticator(options.tokens),
    trust: new PeerTrust(options.tls, clock),
    untilStarted: startGate(options.cache, clock),
    standing: options.standing,
    authorizer,
    resourceRegistry,
    catchUp: (signal) => options.cache.catchUp(CATCH_UP_MS, signal),
    resources: createResourceHandler({
      registry,
      bodies: createBodyReader(clock, options.starts),
      clock,
      random,
      logger,
      tables: createTables(clock, describe),
      decodeProtobuf: (bytes) => decodeProtobuf(bytes, { apiVersion: 'meta.k8s.io/v1', kind: 'DeleteOptions' }),
      onWatch: (resource) => metrics.watching(resource),
    }),
    aggregated: createAggregatedApis({ ...options.aggregation, authorizer, clock }),
    logs: createLogHandler({ registry, authorizer, lookup, agents: options.agentLogs, clock }),
    proxies: createProxyHandler({ registry, tls: options.agentTls, random, turns: options.turns }),
    streams: createStreamHandler({ registry, lookup, agents: options.agentStreams, clock }),
    pages: createPages({
      describe,
      resourceRegistry,
      published: createPublishedApis(resourceRegistry, index, directory),
      checks: options.checks,
      metrics: options.metrics,
      signingKeys,
      introspection: options.introspection,
    }),
    metrics,
    activities: options.activities,
    audit: options.audit,
    flowControl: options.flowControl,
    stored: (definition) => options.cache.resource(definition).size,
    clock,
    newUid,
    logger,
    stopping: options.stopping,
    watchesEnd: options.watchesEnd,
  });
}
