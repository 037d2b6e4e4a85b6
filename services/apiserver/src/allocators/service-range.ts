import {
  formatIpv4,
  type IPAddress,
  type KubeObject,
  parseIpv4,
  parseIpv4Range,
  type Service,
  type ServiceCIDR,
  StatusError,
} from '@gantry/objects';
import type { Random } from '@gantry/base';
import { objectKey, type WatchCache } from '../cache/index.ts';

export const SERVICE_CIDRS = { group: 'networking.k8s.io', resource: 'servicecidrs' } as const;
export const IP_ADDRESSES = { group: 'networking.k8s.io', resource: 'ipaddresses', namespaced: false } as const;

/** The addresses that Services may have. */
export interface AddressSpace {
  /** All ranges; the cluster's own range is the first. */
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

/** A range of IPv4 addresses. The first and the last address are not used. The second one is that of the API. */
export interface ServiceRange {
  readonly text: string;
  readonly base: number;
  readonly size: number;
}

/** Parses the cluster's own range, such as `10.96.0.0/16`. */
export function parseServiceRange(text: string): ServiceRange {
  const range = readServiceRange(text);
  if (range === undefined || range.size > 2 ** 24 || range.size < 2 ** 4) {
    throw StatusError.internal(`the range of Service addresses is not valid: ${text}`);
  }
  return range;
}

/** Parses a range of IPv4 addresses of any size. Undefined for an invalid text. */
export function readServiceRange(text: string): ServiceRange | undefined {
  const range = parseIpv4Range(text);
  return range === undefined ? undefined : { text, base: range.first, size: range.last - range.first + 1 };
}

/** Whether a Service can have the address in this range. */
export function containsAddress(range: ServiceRange, text: string): boolean {
  const address = parseIpv4(text);
  return address !== undefined && address > range.base && address < range.base + range.size - 1;
}

/** Addresses below this offset are left for Services that request them. Random addresses use them only if all others are taken. */
function staticBand({ size }: ServiceRange): number {
  return size <= 16 ? 0 : Math.min(256, Math.max(16, Math.floor(size / 16)));
}

/** A random address of the upper band, never the first address of the range. Undefined when the band is empty. */
export function randomAddress(range: ServiceRange, random: Random): string | undefined {
  const start = Math.max(2, staticBand(range));
  const count = range.size - 1 - start;
  return count <= 0 ? undefined : formatIpv4(range.base + start + Math.floor(random() * count));
}

/** All addresses that may be allocated without a request, those of the upper band first. */
export function* givenAddresses(range: ServiceRange): Generator<string> {
  const band = Math.max(2, staticBand(range));
  for (let offset = band; offset < range.size - 1; offset++) yield formatIpv4(range.base + offset);
  for (let offset = 2; offset < Math.min(band, range.size - 1); offset++) yield formatIpv4(range.base + offset);
}
