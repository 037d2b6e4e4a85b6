import type { Clock, Random } from '@gantry/base';
import type { ObjectStore } from '../storage/object-store.ts';
import type { WatchCache } from '../cache/index.ts';
import { cachedAddressSpace, parseServiceRange } from './service-range.ts';
import { ServiceAllocators } from './service-allocators.ts';

export { containsAddress, IP_ADDRESSES, readServiceRange, SERVICE_CIDRS } from './service-range.ts';
export type { Duplicate, ServiceAllocators } from './service-allocators.ts';

/** Creates the allocators. The claims are in `store`. */
export function createAllocators(options: {
  readonly store: ObjectStore;
  readonly cache: WatchCache;
  readonly clock: Clock;
  readonly random: Random;
  readonly serviceCidr: string;
}): ServiceAllocators {
  const space = cachedAddressSpace(options.cache, parseServiceRange(options.serviceCidr));
  return new ServiceAllocators({ ...options, space });
}
