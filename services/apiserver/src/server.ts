import type { EventEmitter } from 'node:events';
import { type Activities, type Clock, must, type NewUid, type Random } from '@gantry/base';
import { Turns } from './turns.ts';
import { encodeProtobuf, type ResourceDefinition } from '@gantry/apimachinery';
import { findResource } from '@gantry/kinds';
import {
  API_SERVERS,
  EVENTS,
  FLOW_SCHEMAS,
  type KubeObject,
  PRIORITY_LEVEL_CONFIGURATIONS,
  StatusError,
} from '@gantry/objects';
import { toGrpcFailure } from '@gantry/client';
import {
  createHealth,
  type GroupMember,
  grpcServer,
  type GrpcService,
  type Health,
  type GrpcServer,
  healthService,
  introspectionService,
  type Logger,
  type Metrics,
  type ReportedParts,
  Starts,
} from '@gantry/service';
import type { TlsSource } from '@gantry/tls';
import { createAggregation } from './aggregation/create-aggregation.ts';
import type { AgentStreams } from './agents/agent-streams.ts';
import type { UsageSource } from './agents/usage-source.ts';
import type { AgentLogs } from './endpoints/logs/agent-logs.ts';
import type { AuditTrail } from './audit/index.ts';
import { createReviewer } from './auth/access-reviews.ts';
import { createAuthorizer } from './auth/authz/authorizer.ts';
import { createBootstrapAuthenticator } from './auth/authn/bootstrap-token.ts';
import { createCacheLookup } from './auth/authz/cache-lookup.ts';
import { createRoleIndex, createRoleSource } from './auth/rbac/role-index.ts';
import type { SigningKeySource } from './auth/authn/signing-keys.ts';
import { StandingRequests } from './auth/authn/standing-requests.ts';
import { LegacyTokenUses } from './auth/authn/legacy-tokens.ts';
import { createServiceAccountAuthenticator } from './auth/authn/token-authenticator.ts';
import { createTokenIssuer } from './auth/authn/token-issuer.ts';
import { createEscalationCheck } from './auth/authz/escalation-check.ts';
import { legacyTokenCounters } from './meters.ts';
import { legacyTokenTracking } from './loops/legacy-tokens.ts';
import { bootstrapLoop } from './loops/bootstrap/bootstrap.ts';
import { WatchCache } from './cache/index.ts';
import { ResourceRegistry } from './resource-registry.ts';
import { convertByWebhook } from './custom-resources/convert-by-webhook.ts';
import { definitionController } from './custom-resources/definition-controller.ts';
import { serveDefinitions, type ServingHooks } from './custom-resources/serve-definitions.ts';
import {
  type Registry,
  type RegistryDependencies,
  type RegistrySettings,
  type StoreHealth,
  createRegistry,
} from './registry/index.ts';
import { Clients } from './clients.ts';
import { EtcdReach, type EtcdReachOptions } from './etcd-reach.ts';
import {
  createIntrospection,
  type Introspection,
  type IntrospectionOptions,
  type IntrospectionSettings,
} from './introspection/introspection.ts';
import { kubernetesEndpoints } from './loops/kubernetes-endpoints.ts';
import type { PeerRegistry } from './peer-registry.ts';
import { eventSweeper } from './loops/event-sweeper.ts';
import { objectService } from './endpoints/grpc/object-service.ts';
import { createRestEndpoint } from './endpoints/router/rest-endpoint.ts';
import { type HttpsServer, httpsServer, type HttpsServerOptions } from './http/https-server.ts';
import { serviceAddresses } from './loops/service-addresses/service-addresses.ts';
import { healthChecks, readinessMember, type ServerState } from './readiness.ts';
import type { ObjectStore } from './storage/index.ts';
import { createLoopbackClient, type LoopbackClient } from './loopback-client.ts';
import { cachedServices, createWebhookCaller } from './webhooks/index.ts';
import { FlowController } from './flow-control/flow-controller.ts';
import { flowObjects } from './loops/flow-objects/flow-objects.ts';

export interface ApiServerOptions {
  readonly store: ObjectStore;
  /** The built-in resources in discovery order. They come from @gantry/kinds; tests use others. */
  readonly resources: readonly ResourceDefinition[];
  readonly tls: TlsSource;
  /** The client certificate for calls to agents, and the CA of the agents' servers. */
  readonly agentTls: TlsSource;
  /** The front proxy's CA, and the client certificate `front-proxy-client` for calls to extension servers. */
  readonly frontProxy: TlsSource;
  readonly signingKeys: SigningKeySource;
  /** The folder with the file of the bootstrap token. */
  readonly bootstrapDir: string;
  readonly settings: RegistrySettings;
  readonly listen: {
    readonly host: string;
    readonly restPort: number;
    readonly grpcPort: number;
    readonly onRest?: (port: number) => void;
    readonly onGrpc?: (port: number) => void;
  };
  /**
   * How long `/readyz` fails before the listeners stop, 1500 ms by default. In this time the load balancer notices it and sends new
   * connections to other apiservers.
   */
  readonly unreadyMs?: number;
  /** The apiservers, for the endpoints of the Service `default/kubernetes`. When absent, these endpoints are not written. */
  readonly peers?: PeerRegistry;
  /** Health of the store's members, for ComponentStatuses. */
  readonly storeHealth: StoreHealth;
  /** Resource usage of nodes and pods. Used if `resources` contains metrics.k8s.io. */
  readonly usage: UsageSource;
  /** Opens streams on agents: exec, attach and port-forward. */
  readonly agentStreams: AgentStreams;
  readonly agentLogs: AgentLogs;
  /** Absent: what the control plane does is not shown. */
  readonly introspection?: IntrospectionSettings;
  /** The members of etcd, and the writes that wait for them. Absent: etcd is taken to answer. */
  readonly etcd?: EtcdReachOptions;
  /** The signals of the process. Absent: none is known. */
  readonly signals?: EventEmitter;
  readonly clock: Clock;
  readonly random: Random;
  readonly newUid: NewUid;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The running requests, for reports about stalls of the event loop. */
  readonly activities: Activities;
  /** Writes the events of requests to the audit log. */
  readonly audit: AuditTrail;
}

/** Paths of subresources that connect to a container, a pod, a service or a node. */
const STREAMS = /^\/api\/v1\/.*\/(attach|exec|log|portforward|proxy)(\/|$)/;
/** Paths that may be those of resources: each of them can be watched. */
const RESOURCES = /^\/(api|apis\/[^/]+)\/[^/]+\/./;

/** Whether a request for the path may switch to the protocol: to that of a stream, or a watch to a WebSocket. */
function isStream(path: string, protocol: string): boolean {
  return STREAMS.test(path) || (protocol === 'websocket' && RESOURCES.test(path));
}

/** An apiserver as members of a run group, in the order of their dependencies. */
export interface ApiServer {
  readonly members: readonly GroupMember[];
  readonly health: Health;
  readonly registry: Registry;
  readonly client: LoopbackClient;
  readonly cache: WatchCache;
}

/** Creates store, cache, registry, loops and endpoints. Nothing runs until the members run. */
export function createApiServer(options: ApiServerOptions): ApiServer {
  const { store, clock, random, newUid, logger, settings } = options;
  const state = { bootstrap: 'pending', process: 'serving' } as ServerState;
  const stopping = new AbortController();
  const cache = new WatchCache({
    ...{ store, clock, random },
    definitions: options.resources,
    encodeProtobuf: (object: KubeObject) => encodeProtobuf(object),
    onError: (message) => logger.warn({ reason: message }, 'watch cache'),
  });
  const resourceRegistry = new ResourceRegistry(options.resources);
  const { tokens, legacyTokens, ...security } = createSecurity(options, cache);
  const serviceObjects = cachedServices(cache);
  const webhookCaller = createWebhookCaller({ objects: serviceObjects, clock, random });
  const turns = new Turns(clock);
  const { storeHealth, usage } = options;
  const dependencies: RegistryDependencies = {
    ...{ store, cache, resourceRegistry, ...security, clock, turns, random, newUid },
    ...{ webhookCaller, settings, storeHealth, usage },
  };
  const registry = createRegistry(dependencies);
  const clients = new Clients();
  const reach = etcdReach(options, clients, () => introspection?.isAnotherReady());
  const checks = healthChecks(state, cache, reach === undefined ? [] : [reach.check]);
  const health = createHealth({ live: checks.livez, ready: checks.readyz });
  const client = createLoopbackClient(registry);
  const leads = (signal: AbortSignal): Promise<boolean> => options.peers?.isFirst(signal) ?? Promise.resolve(true);
  const aggregation = createAggregation({
    ...options,
    cache,
    turns,
    resourceRegistry,
    client,
    leads,
    objects: serviceObjects,
  });
  const isReady = async (): Promise<boolean> => (await health.ready()).length === 0;
  const introspection = introspectionOf(options, reach, { cache, leads, lookup: security.lookup, isReady });
  const standing = new StandingRequests(clock);
  const flow = createFlowControl(options, cache);
  const starts = new Starts(clock);
  const serve = createRestEndpoint({
    ...options,
    aggregation,
    resourceRegistry,
    cache,
    registry,
    lookup: security.lookup,
    authorizer: security.authorizer,
    tokens,
    turns,
    standing,
    flowControl: flow.control,
    starts,
    checks,
    introspection,
    stopping: stopping.signal,
    watchesEnd: () => clients.watchesEnd,
  });
  const hooks: ServingHooks = { convert: (crd) => convertByWebhook(crd, { caller: webhookCaller, newUid }) };
  serveDefinitions(cache, resourceRegistry, hooks);
  const [grpc, rest] = endpoints(options, {
    serve,
    starts,
    services: [
      objectService({ ...options, registry, resourceRegistry, cache, flowControl: flow.control }),
      healthService(health, clock),
      ...(introspection === undefined ? [] : [reportService(introspection.parts)]),
    ],
    onDrain: () => stopping.abort(),
    mayUpgrade: (path, protocol) => isStream(path, protocol) || aggregation.index.remoteAt(path) !== undefined,
  });
  clients.servers = { grpc, rest };
  const members: GroupMember[] = [
    { name: 'watch-cache', run: (signal) => cache.run(signal) },
    ...(reach === undefined ? [] : [reach.member]),
    { name: 'standing-requests', run: (signal) => standing.run(signal) },
    ...aggregation.members,
    ...(introspection === undefined ? [] : [introspection.member]),
    ...flow.members(client),
    ...controlLoops(options, {
      ...{ client, registry, cache, hooks, leads, legacyTokens },
      onBootstrapped: () => (state.bootstrap = 'done'),
    }),
    ...(options.signals === undefined ? [] : [clients.member(options.signals)]),
    ...[grpc, rest],
    readinessMember(state, clock, options.unreadyMs ?? 1500),
  ];
  return { members, health, registry, client, cache };
}

function introspectionOf(
  { introspection, tls, agentTls, metrics, clock }: ApiServerOptions,
  reach: EtcdReach | undefined,
  own: Pick<IntrospectionOptions, 'cache' | 'leads' | 'lookup' | 'isReady'>,
): Introspection | undefined {
  if (introspection === undefined) return undefined;
  const isEtcdAnswering = (): boolean => reach?.isAnswered ?? true;
  return createIntrospection({ ...introspection, ...own, isEtcdAnswering, tls, agentTls, metrics, clock });
}

function etcdReach(
  { etcd, clock, logger }: ApiServerOptions,
  clients: Clients,
  isAnotherReady: () => Promise<boolean> | undefined,
): EtcdReach | undefined {
  if (etcd === undefined) return undefined;
  return new EtcdReach({
    ...etcd,
    isAnotherReady: async () => (await isAnotherReady()) ?? false,
    releaseConnections: () => clients.release(),
    ...{ clock, logger },
  });
}

/** By this other API servers ask what this one does. */
function reportService(parts: ReportedParts): GrpcService {
  const forbidden = () => new StatusError('Forbidden', 'only API servers may ask what this one does');
  return introspectionService({ parts, askedBy: API_SERVERS, forbidden });
}

/** The gRPC and REST servers. */
function endpoints(
  { tls, listen, clock, activities, logger }: ApiServerOptions,
  served: {
    readonly serve: HttpsServerOptions['serve'];
    readonly starts: Starts;
    readonly services: readonly GrpcService[];
    readonly onDrain: () => void;
    readonly mayUpgrade: HttpsServerOptions['mayUpgrade'];
  },
): readonly [GrpcServer, HttpsServer] {
  const shared = { tls, clock, logger };
  return [
    grpcServer({
      ...shared,
      address: `${listen.host}:${listen.grpcPort}`,
      services: served.services,
      activities,
      starts: served.starts,
      toGrpcError: toGrpcFailure,
      onListening: listen.onGrpc,
    }),
    httpsServer({
      ...shared,
      ...served,
      host: listen.host,
      port: listen.restPort,
      onListening: listen.onRest,
    }),
  ];
}

/** Authentication and authorisation, which use the cached objects. */
function createSecurity(
  { bootstrapDir, signingKeys, clock, newUid, logger, metrics }: ApiServerOptions,
  cache: WatchCache,
) {
  const legacyTokens = new LegacyTokenUses(legacyTokenCounters(metrics), clock);
  const lookup = createCacheLookup(cache, clock);
  const roles = createRoleIndex(createRoleSource(cache));
  const authorizer = createAuthorizer(lookup, roles);
  const tokens = [
    createBootstrapAuthenticator(bootstrapDir, clock, logger),
    createServiceAccountAuthenticator(signingKeys, lookup, clock, legacyTokens),
  ];
  return {
    lookup,
    tokens,
    legacyTokens,
    authorizer,
    escalationCheck: createEscalationCheck(authorizer, roles),
    reviewer: createReviewer(authorizer, tokens),
    tokenIssuer: createTokenIssuer(signingKeys, clock, newUid),
  };
}

/** The control loops of the apiserver. */
function controlLoops(
  { store, resources, peers, settings, clock, random, logger }: ApiServerOptions,
  wiring: {
    readonly client: LoopbackClient;
    readonly registry: Registry;
    readonly cache: WatchCache;
    readonly hooks: ServingHooks;
    readonly leads: (signal: AbortSignal) => Promise<boolean>;
    readonly legacyTokens: LegacyTokenUses;
    readonly onBootstrapped: () => void;
  },
): readonly GroupMember[] {
  const { client, cache } = wiring;
  const shared = { ...wiring, store, clock, random, logger };
  const whenReady = (signal: AbortSignal): Promise<void> => cache.whenReady(signal);
  const events = must(findResource(EVENTS), 'events');
  return [
    definitionController(shared),
    serviceAddresses({ ...shared, serviceCidr: settings.serviceCidr }),
    bootstrapLoop({ ...shared, resources, serviceCidr: settings.serviceCidr, onDone: wiring.onBootstrapped }),
    ...(peers === undefined ? [] : [kubernetesEndpoints({ client, peers, whenReady, clock, logger })]),
    eventSweeper({ ...shared, definition: events }),
    ...legacyTokenTracking({ ...shared, uses: wiring.legacyTokens }),
  ];
}

/** Flow control by the cached configuration, and the loop that keeps the default configuration. */
function createFlowControl(
  { clock, metrics, logger }: { readonly clock: Clock; readonly metrics: Metrics; readonly logger: Logger },
  cache: WatchCache,
): { readonly control: FlowController; readonly members: (client: LoopbackClient) => readonly GroupMember[] } {
  // The lookups happen once, since every request reads both snapshots.
  const schemas = cache.resource(FLOW_SCHEMAS);
  const levels = cache.resource(PRIORITY_LEVEL_CONFIGURATIONS);
  const source = { schemas: () => schemas.snapshot(), levels: () => levels.snapshot() };
  const control = new FlowController({ source, clock, metrics });
  return {
    control,
    members: (client) => [
      { name: 'flow-control', run: (signal) => control.run(signal) },
      flowObjects({ client, cache, clock, logger }),
    ],
  };
}
