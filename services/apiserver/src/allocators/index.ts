import type { Clock, Random } from '@gantry/base';
import type { ObjectStore } from '../storage/object-store.ts';
import { parseAddressRange } from './address-range.ts';
import { ServiceAllocators } from './service-allocators.ts';

export { firstAddress, parseAddressRange } from './address-range.ts';
export type { Allocation, Allocators } from './allocators.ts';
export type { ServiceAllocators } from './service-allocators.ts';

/** The allocators over the store that holds the claims. */
export function createAllocators(options: {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly serviceCidr: string;
}): ServiceAllocators {
  return new ServiceAllocators({ ...options, range: parseAddressRange(options.serviceCidr) });
}
