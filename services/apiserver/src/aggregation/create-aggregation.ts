/** Aggregated APIs: APIServices, the servers behind them, and their discovery and OpenAPI documents. */
import type { Clock, Random } from '@gantry/base';
import type { ResourceRef } from '@gantry/objects';
import type { GroupMember, Logger } from '@gantry/service';
import type { TlsSource } from '@gantry/tls';
import type { WatchCache } from '../cache/index.ts';
import type { Turns } from '../turns.ts';
import type { ResourceRegistry } from '../resource-registry.ts';
import type { ServiceObjects } from '../webhooks/index.ts';
import { ApiServiceIndex } from './api-service-index.ts';
import { authenticationConfig } from './authentication-config.ts';
import { availabilityController } from './availability-controller.ts';
import type { LoopbackClient } from '../loopback-client.ts';
import { registrationController } from './registration-controller.ts';
import type { RemoteDirectory } from './remote-documents.ts';
import { RefreshedDirectory } from './refreshed-directory.ts';
import { createRemoteServers, type RemoteServers } from './remote-servers.ts';

export interface AggregationOptions {
  /** The built-in resources. */
  readonly resources: readonly ResourceRef[];
  readonly cache: WatchCache;
  readonly resourceRegistry: ResourceRegistry;
  readonly tls: TlsSource;
  readonly frontProxy: TlsSource;
  /** The Services of extension servers. */
  readonly objects: ServiceObjects;
  readonly client: LoopbackClient;
  /** Whether this apiserver writes the availability conditions. Only one of several does. */
  readonly leads: (signal: AbortSignal) => Promise<boolean>;
  readonly clock: Clock;
  readonly turns: Turns;
  readonly random: Random;
  readonly logger: Logger;
}

export interface Aggregation {
  readonly index: ApiServiceIndex;
  readonly servers: RemoteServers;
  readonly directory: RemoteDirectory;
  readonly members: readonly GroupMember[];
}

export function createAggregation(options: AggregationOptions): Aggregation {
  const { cache, objects } = options;
  const index = new ApiServiceIndex(cache);
  const servers = createRemoteServers({ objects, tls: options.frontProxy, random: options.random });
  const directory = new RefreshedDirectory({ ...options, index, servers });
  return {
    index,
    servers,
    directory,
    members: [
      registrationController({ ...options, index }),
      availabilityController({ ...options, index, objects, servers, directory }),
      authenticationConfig(options),
      directory.member(),
    ],
  };
}
