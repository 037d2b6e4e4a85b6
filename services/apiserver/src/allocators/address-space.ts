import type { IPAddress, KubeObject, Service, ServiceCIDR } from '@gantry/objects';
import { objectKey, type WatchCache } from '../cache/index.ts';
import { type ServiceRange, readServiceRange } from './service-range.ts';

export const SERVICE_CIDRS = { group: 'networking.k8s.io', resource: 'servicecidrs' } as const;
export const IP_ADDRESSES = { group: 'networking.k8s.io', resource: 'ipaddresses', namespaced: false } as const;

/** Which addresses Services may have. */
export interface AddressSpace {
  /** The cluster's own range first. */
  ranges(): readonly ServiceRange[];
  /** Whether an IPAddress assigns the address to another object. */
  isReserved(address: string, service: Service): boolean;
}

/** The cluster's own range, the ranges of ready ServiceCIDRs, and the reservations by IPAddresses. */
export function cachedAddressSpace(cache: WatchCache, own: ServiceRange): AddressSpace {
  return {
    ranges: () => {
      const stored = cache.resource(SERVICE_CIDRS).snapshot();
      const ready = stored.map(({ response }) => response.object as ServiceCIDR & KubeObject).filter(isReady);
      const further = ready.flatMap(({ spec }) => (spec?.cidrs ?? []).flatMap((cidr) => readServiceRange(cidr) ?? []));
      return [own, ...further.filter(({ base, size }) => base !== own.base || size !== own.size)];
    },
    isReserved: (address, { metadata }) => {
      const entry = cache.resource(IP_ADDRESSES).get(objectKey(IP_ADDRESSES, '', address));
      const parent = (entry?.response.object as IPAddress | undefined)?.spec?.parentRef;
      if (parent === undefined) return false;
      const { group = '', resource, namespace = '', name } = parent;
      const isOwn = namespace === (metadata.namespace ?? '') && name === (metadata.name ?? '');
      return group !== '' || resource !== 'services' || !isOwn;
    },
  };
}

function isReady({ metadata, status }: ServiceCIDR & KubeObject): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  return (status?.conditions ?? []).some((one) => one.type === 'Ready' && one.status === 'True');
}
