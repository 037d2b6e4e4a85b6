/** Aggregated APIs: APIServices, the servers behind them, and their discovery and OpenAPI documents. */
import type { Clock, Random } from '@gantry/base';
import type { ResourceRef } from '@gantry/objects';
import type { GroupMember, Logger } from '@gantry/service';
import type { TlsSource } from '@gantry/tls';
import type { PathAuthorizer } from './auth/authz/authorizer.ts';
import type { WatchCache } from './cache/index.ts';
import type { ResourceRegistry } from './resource-registry/resource-registry.ts';
import type { Authorizer } from './auth/authz/authorizer.ts';
import type { ServiceObjects } from './webhooks/index.ts';
import { type AggregatedApis, createAggregatedApis } from './endpoints/aggregation/aggregated-handler.ts';
import { ApiServiceIndex } from './aggregation/api-service-index.ts';
import { authenticationConfig } from './loops/aggregation/authentication-config.ts';
import { availabilityController } from './loops/aggregation/availability-controller.ts';
import type { LoopbackClient } from './loops/loopback-client.ts';
import { createPublishedApis, type PublishedApis } from './endpoints/discovery/published-apis.ts';
import { registrationController } from './loops/aggregation/registration-controller.ts';
import { RefreshedDirectory } from './loops/aggregation/refreshed-directory.ts';
import { createRemoteServers } from './aggregation/remote-servers.ts';

export interface AggregationOptions {
  /** The built-in resources. */
  readonly resources: readonly ResourceRef[];
  readonly cache: WatchCache;
  readonly resourceRegistry: ResourceRegistry;
  readonly authorizer: Authorizer & PathAuthorizer;
  readonly tls: TlsSource;
  readonly frontProxy: TlsSource;
  /** The Services in front of extension servers. */
  readonly objects: ServiceObjects;
  readonly client: LoopbackClient;
  /** Whether it is this apiserver that tells what is available: of several, one. */
  readonly leads: (signal: AbortSignal) => Promise<boolean>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface Aggregation {
  readonly apis: AggregatedApis;
  readonly published: PublishedApis;
  readonly members: readonly GroupMember[];
}

export function createAggregation(options: AggregationOptions): Aggregation {
  const { cache, objects, resourceRegistry } = options;
  const index = new ApiServiceIndex(cache);
  const servers = createRemoteServers({ objects, tls: options.frontProxy, random: options.random });
  const directory = new RefreshedDirectory({ ...options, index, servers });
  return {
    apis: createAggregatedApis({ ...options, index, servers }),
    published: createPublishedApis(resourceRegistry, index, directory),
    members: [
      registrationController({ ...options, index }),
      availabilityController({ ...options, index, objects, servers }),
      authenticationConfig(options),
      directory.member(),
    ],
  };
}
