/** APIs of other servers, served as if they were ours: APIServices, what is behind them, and all that is told of them. */
import type { Clock, Random } from '@gantry/base';
import type { GroupMember, Logger, TlsSource } from '@gantry/service';
import type { PathAuthorizer } from '../auth/authorizer.ts';
import type { WatchCache } from '../cache/index.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { Authorizer, Driver } from '../driver.ts';
import type { PeerRegistry } from '../endpoints/index.ts';
import { cachedServices } from '../webhook-client/index.ts';
import { type AggregatedApis, createAggregatedApis } from './aggregated-handler.ts';
import { ApiServiceIndex } from './api-service-index.ts';
import { authenticationConfig } from './authentication-config.ts';
import { availabilityController } from './availability-controller.ts';
import { createOwnWrites } from './own-writes.ts';
import { createPublishedApis, type PublishedApis } from './published-apis.ts';
import { registrationController } from './registration-controller.ts';
import { RemoteDirectory } from './remote-directory.ts';
import { createRemoteServers } from './remote-servers.ts';

export interface AggregationOptions {
  readonly cache: WatchCache;
  readonly catalogue: Catalogue;
  readonly driver: Driver;
  readonly authorizer: Authorizer & PathAuthorizer;
  readonly tls: TlsSource;
  readonly frontProxy: TlsSource;
  /** The first of the apiservers tells what is available; each does when there is no list of them. */
  readonly peers?: Pick<PeerRegistry, 'isFirst'>;
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
  const { cache, catalogue, driver, peers } = options;
  const objects = cachedServices(cache);
  const index = new ApiServiceIndex(cache);
  const servers = createRemoteServers({ objects, tls: options.frontProxy, random: options.random });
  const writes = createOwnWrites(driver);
  const directory = new RemoteDirectory({ ...options, index, servers });
  const leads = (signal: AbortSignal): Promise<boolean> => peers?.isFirst(signal) ?? Promise.resolve(true);
  return {
    apis: createAggregatedApis({ ...options, index, servers }),
    published: createPublishedApis(catalogue, index, directory),
    members: [
      registrationController({ ...options, index, writes }),
      availabilityController({ ...options, index, objects, servers, writes, leads }),
      authenticationConfig({ ...options, writes }),
      directory.member(),
    ],
  };
}
