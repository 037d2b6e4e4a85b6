import { type Clock, errorMessage, must, type NewUid, type Random, sleep } from '@gantry/base';
import { encodeProtobuf, findResource, type KubeObject, resources } from '@gantry/api';
import { toGrpcFailure } from '@gantry/client';
import {
  createHealth,
  type GroupMember,
  grpcServer,
  type Health,
  type HealthCheck,
  healthService,
  type Logger,
  type Metrics,
  type TlsSource,
} from '@gantry/service';
import { createAggregation } from './aggregation/index.ts';
import { createReviewer } from './auth/access-reviews.ts';
import { createAuthorizer } from './auth/authorizer.ts';
import { createBootstrapAuthenticator } from './auth/bootstrap-token.ts';
import { createCacheLookup } from './auth/cache-lookup.ts';
import { createRoleIndex, createRoleSource } from './auth/rbac/role-index.ts';
import type { SigningKeys } from './auth/signing-keys.ts';
import { createServiceAccountAuthenticator } from './auth/token-authenticator.ts';
import { createTokenIssuer } from './auth/token-issuer.ts';
import { createWriteGuard } from './auth/write-guard.ts';
import { bootstrap, SELF } from './bootstrap/index.ts';
import { WatchCache } from './cache/index.ts';
import { Catalogue } from './catalogue/catalogue.ts';
import { convertByWebhook } from './custom-resources/convert-by-webhook.ts';
import { definitionController } from './custom-resources/definition-controller.ts';
import { serveDefinitions, type ServingHooks } from './custom-resources/serve-definitions.ts';
import type { Driver } from './driver.ts';
import { kubernetesEndpoints, type PeerRegistry } from './endpoints/index.ts';
import { eventSweeper } from './event-sweeper.ts';
import {
  createDriver,
  type DriverDependencies,
  type DriverSettings,
  type StoreHealth,
} from './generic-driver/index.ts';
import { objectService } from './grpc/index.ts';
import { createRouter } from './rest/create-router.ts';
import type { HealthChecks } from './rest/health-routes.ts';
import { httpsServer } from './rest/https-server.ts';
import { serviceAddresses } from './service-addresses/service-addresses.ts';
import type { ObjectStore } from './storage/index.ts';
import { createOwnWrites } from './upkeep/own-writes.ts';
import { cachedServices, createWebhookCaller } from './webhook-client/index.ts';

export interface ApiServerOptions {
  readonly store: ObjectStore;
  readonly tls: TlsSource;
  /** What extension servers know apiservers by: its authority, and a certificate for `front-proxy-client`. */
  readonly frontProxy: TlsSource;
  readonly signingKeys: SigningKeys;
  /** The folder of the bootstrap token's file. */
  readonly bootstrapDir: string;
  readonly settings: DriverSettings;
  readonly listen: {
    readonly host: string;
    readonly restPort: number;
    readonly grpcPort: number;
    readonly onRest?: (port: number) => void;
    readonly onGrpc?: (port: number) => void;
  };
  /** How long `/readyz` fails before the listeners stop: the load balancer's time to notice, and for new connections to go elsewhere. 1500 ms when absent. */
  readonly unreadyMs?: number;
  /** Who the apiservers are, for the endpoints of `default/kubernetes`; nobody keeps these when absent. */
  readonly peers?: PeerRegistry;
  /** How the members of the store are, for ComponentStatuses. */
  readonly storeHealth?: StoreHealth;
  /** Further conditions of readiness. */
  readonly readyChecks?: readonly HealthCheck[];
  readonly clock: Clock;
  readonly random: Random;
  readonly newUid: NewUid;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Paths of subresources that lead to what an object stands for. */
const STREAMS = /^\/api\/v1\/.*\/(attach|exec|portforward|proxy)(\/|$)/;

/** An API server as members of a run group, in the order in which they depend on each other. */
export interface ApiServer {
  readonly members: readonly GroupMember[];
  readonly health: Health;
  readonly driver: Driver;
  readonly cache: WatchCache;
}

/** Wires store, cache, driver and doors. Nothing runs before the members do. */
export function createApiServer(options: ApiServerOptions): ApiServer {
  const { store, clock, random, newUid, logger, listen, settings } = options;
  const state = { bootstrap: 'pending', process: 'serving' } as State;
  const stopping = new AbortController();
  const cache = new WatchCache({
    store,
    clock,
    definitions: resources,
    encodeProtobuf: (object: KubeObject) => encodeProtobuf(object),
    onError: (message) => logger.warn({ reason: message }, 'watch cache'),
  });
  const catalogue = new Catalogue(resources);
  const lookup = createCacheLookup(cache);
  const roles = createRoleIndex(createRoleSource(cache));
  const authorizer = createAuthorizer(lookup, roles);
  const tokens = [
    createBootstrapAuthenticator(options.bootstrapDir, clock, logger),
    createServiceAccountAuthenticator(options.signingKeys, lookup, clock),
  ];
  const guard = createWriteGuard(authorizer, roles);
  const reviewer = createReviewer(authorizer, tokens);
  const tokenIssuer = createTokenIssuer(options.signingKeys, clock, newUid);
  const dependencies = {
    store,
    cache,
    catalogue,
    authorizer,
    access: authorizer,
    guard,
    reviewer,
    clock,
    random,
    newUid,
    tokenIssuer,
    settings,
    ...(options.storeHealth === undefined ? {} : { storeHealth: options.storeHealth }),
  };
  const driver = createDriver(dependencies);
  const checks = healthChecks(state, cache, options.readyChecks ?? []);
  const health = createHealth({ live: checks.livez, ready: checks.readyz });
  const writes = createOwnWrites(driver);
  const leads = (signal: AbortSignal): Promise<boolean> => options.peers?.isFirst(signal) ?? Promise.resolve(true);
  const aggregation = createAggregation({ ...options, cache, catalogue, authorizer, writes, leads });
  const router = createRouter({
    ...options,
    aggregated: aggregation.apis,
    published: aggregation.published,
    catalogue,
    cache,
    driver,
    lookup,
    authorizer,
    tokens,
    checks,
    stopping: stopping.signal,
  });
  const caller = createWebhookCaller({ objects: cachedServices(cache), clock, random });
  const hooks: ServingHooks = { convert: (crd) => convertByWebhook(crd, { caller, newUid }) };
  serveDefinitions(cache, catalogue, hooks);
  const events = must(findResource({ group: '', version: 'v1', resource: 'events' }), 'events');
  const members: GroupMember[] = [
    { name: 'watch-cache', run: (signal) => cache.run(signal) },
    definitionController({ cache, driver, hooks, clock, logger }),
    ...aggregation.members,
    serviceAddresses({ cache, writes, leads, clock, logger }),
    bootstrapMember(driver, dependencies, state, logger),
    ...(options.peers === undefined ? [] : [endpointsMember(options.peers, { driver, cache, clock, logger })]),
    eventSweeper({ store, cache, definition: events, clock, logger }),
    grpcServer({
      tls: options.tls,
      address: `${listen.host}:${listen.grpcPort}`,
      services: [objectService({ driver, catalogue, logger }), healthService(health, clock)],
      logger,
      toGrpcError: toGrpcFailure,
      ...(listen.onGrpc === undefined ? {} : { onListening: listen.onGrpc }),
    }),
    httpsServer({
      router,
      tls: options.tls,
      host: listen.host,
      port: listen.restPort,
      logger,
      onDrain: () => stopping.abort(),
      mayUpgrade: (path) => STREAMS.test(path) || aggregation.apis.find(path) !== undefined,
      ...(listen.onRest === undefined ? {} : { onListening: listen.onRest }),
    }),
    readinessMember(state, clock, options.unreadyMs ?? 1500),
  ];
  return { members, health, driver, cache };
}

/** How far the process is. */
interface State {
  bootstrap: 'pending' | 'done';
  process: 'serving' | 'draining';
}

/** A condition of readiness that does not hold. */
class NotReadyError extends Error {
  override readonly name = 'NotReadyError';
}

function healthChecks(state: State, cache: WatchCache, further: readonly HealthCheck[]): HealthChecks {
  const check = (name: string, holds: () => boolean, reason: string): HealthCheck => ({
    name,
    check: () => {
      if (!holds()) throw new NotReadyError(reason);
    },
  });
  return {
    livez: [],
    readyz: [
      check('watch-cache', () => cache.ready, 'the tree has not been read yet'),
      check('bootstrap', () => state.bootstrap === 'done', 'not finished'),
      check('shutdown', () => state.process === 'serving', 'process is shutting down'),
      ...further,
    ],
  };
}

function endpointsMember(
  registry: PeerRegistry,
  { driver, cache, clock, logger }: { driver: Driver; cache: WatchCache; clock: Clock; logger: Logger },
): GroupMember {
  const whenReady = (signal: AbortSignal): Promise<void> => cache.whenReady(signal);
  return kubernetesEndpoints({ driver, registry, user: SELF, whenReady, clock, logger });
}

/** Makes what every cluster has, once the cache can tell what is missing. */
function bootstrapMember(driver: Driver, dependencies: DriverDependencies, state: State, logger: Logger): GroupMember {
  return {
    name: 'bootstrap',
    run: async (signal) => {
      const onError = (error: unknown): void => logger.warn({ reason: errorMessage(error) }, 'bootstrap tries again');
      try {
        await bootstrap(driver, dependencies, onError, signal);
        state.bootstrap = 'done';
      } catch (error) {
        if (!signal.aborted) throw error;
      }
      await untilAborted(signal);
    },
  };
}

/** The last member, so the first to drain: `/readyz` fails a while before anything stops. */
function readinessMember(state: State, clock: Clock, unreadyMs: number): GroupMember {
  return {
    name: 'readiness',
    run: untilAborted,
    drain: async (signal) => {
      state.process = 'draining';
      await sleep(clock, unreadyMs, signal);
    },
  };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
