import { type AddressRange, isWithin, podAddresses, type Service } from '@gantry/objects';
import { EMPTY, type Fragment } from './fragment.ts';
import type { LocalNode } from './topology.ts';

/**
 * Returns the host's own addresses in a pod network: those of its Nodes and of load balancers. It is one range, because both parts are
 * adjacent.
 */
export function hostRange(podCidr: string): AddressRange | undefined {
  const parts = podAddresses(podCidr);
  return parts === undefined ? undefined : { first: parts.loadBalancers.first, last: parts.nodes.last };
}

/** Returns the Service's addresses that the host should have. Its other addresses belong to load balancers elsewhere. */
export function loadBalancerAddresses({ spec, status }: Service, podCidr: string): readonly string[] {
  const part = podAddresses(podCidr)?.loadBalancers;
  if (part === undefined || spec?.type !== 'LoadBalancer') return [];
  const ingress = status?.loadBalancer?.ingress ?? [];
  return ingress.flatMap(({ ip = '', ipMode = 'VIP' }) => (ipMode === 'VIP' && isWithin(part, ip) ? [ip] : []));
}

/** Returns the Node addresses that the host should have. */
export function nodeAddresses(nodes: ReadonlyMap<string, LocalNode>, podCidr: string): readonly string[] {
  const part = podAddresses(podCidr)?.nodes;
  return [...nodes.values()].flatMap(({ address }) => (part !== undefined && isWithin(part, address) ? [address] : []));
}

/** Ports of a load balancer's address that no Service has are closed, even if a program of the host listens on them. */
export function planLoadBalancerAddresses(addresses: readonly string[]): Fragment {
  if (addresses.length === 0) return EMPTY;
  const elements = addresses.map((key) => ({ container: 'load-balancer-addresses', key, value: '' }) as const);
  return { elements, chains: new Map(), sets: new Map() };
}

/** Returns the changes of an interface as lines for `ip -batch`. `listing` is the output of `ip -o -4 address show dev INTERFACE`. */
export function planAddresses(listing: string, { device, wanted, range }: AddressPlan): readonly string[] {
  const present = new Set<string>();
  for (const line of listing.split('\n')) {
    const [, address = '', prefix = ''] = / inet (\S+)\/(\d+) /.exec(line) ?? [];
    if (prefix === '32' && isWithin(range, address)) present.add(address);
  }
  const missing = [...wanted].filter((address) => !present.has(address));
  const left = [...present].filter((address) => !wanted.has(address));
  return [
    ...left.map((address) => `address delete ${address}/32 dev ${device}`),
    ...missing.map((address) => `address replace ${address}/32 dev ${device}`),
  ];
}

export interface AddressPlan {
  readonly device: string;
  readonly wanted: ReadonlySet<string>;
  /** Addresses on the interface outside of this range belong to other programs. */
  readonly range: AddressRange;
}
