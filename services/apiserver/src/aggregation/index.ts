/** APIs of other servers, served as if they were ours: APIServices, what is behind them, and all that is told of them. */
import type { Clock, Random } from '@gantry/base';
import type { GroupMember, Logger, TlsSource } from '@gantry/service';
import type { PathAuthorizer } from '../auth/authorizer.ts';
import type { WatchCache } from '../cache/index.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { Authorizer } from '../driver.ts';
import { cachedServices } from '../webhook-client/index.ts';
import { type AggregatedApis, createAggregatedApis } from './aggregated-handler.ts';
import { ApiServiceIndex } from './api-service-index.ts';
import { authenticationConfig } from './authentication-config.ts';
import { availabilityController } from './availability-controller.ts';
import type { OwnWrites } from '../upkeep/own-writes.ts';
import { createPublishedApis, type PublishedApis } from './published-apis.ts';
import { registrationController } from './registration-controller.ts';
import { RemoteDirectory } from './remote-directory.ts';
import { createRemoteServers } from './remote-servers.ts';

export interface AggregationOptions {
  readonly cache: WatchCache;
  readonly catalogue: Catalogue;
  readonly authorizer: Authorizer & PathAuthorizer;
  readonly tls: TlsSource;
  readonly frontProxy: TlsSource;
  readonly writes: OwnWrites;
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
  const { cache, catalogue } = options;
  const objects = cachedServices(cache);
  const index = new ApiServiceIndex(cache);
  const servers = createRemoteServers({ objects, tls: options.frontProxy, random: options.random });
  const directory = new RemoteDirectory({ ...options, index, servers });
  return {
    apis: createAggregatedApis({ ...options, index, servers }),
    published: createPublishedApis(catalogue, index, directory),
    members: [
      registrationController({ ...options, index }),
      availabilityController({ ...options, index, objects, servers }),
      authenticationConfig(options),
      directory.member(),
    ],
  };
}
