import { type AddressRange, isWithin, podAddresses, type Service } from '@gantry/objects';
import { EMPTY, type Fragment } from './fragment.ts';
import type { LocalNode } from './topology.ts';

/** The addresses of a pod network that are the host's own: those of its Nodes and of load balancers. One range, as both parts are neighbours. */
export function hostRange(podCidr: string): AddressRange | undefined {
  const parts = podAddresses(podCidr);
  return parts === undefined ? undefined : { first: parts.loadBalancers.first, last: parts.nodes.last };
}

/** The addresses of a Service that the host is to have; others are of load balancers elsewhere. */
export function loadBalancerAddresses({ spec, status }: Service, podCidr: string): readonly string[] {
  const part = podAddresses(podCidr)?.loadBalancers;
  if (part === undefined || spec?.type !== 'LoadBalancer') return [];
  const ingress = status?.loadBalancer?.ingress ?? [];
  return ingress.flatMap(({ ip = '', ipMode = 'VIP' }) => (ipMode === 'VIP' && isWithin(part, ip) ? [ip] : []));
}

/** The addresses of Nodes that the host is to have. */
export function nodeAddresses(nodes: ReadonlyMap<string, LocalNode>, podCidr: string): readonly string[] {
  const part = podAddresses(podCidr)?.nodes;
  return [...nodes.values()].flatMap(({ address }) => (part !== undefined && isWithin(part, address) ? [address] : []));
}

/** Ports of a load balancer's address that no Service has are closed, whatever listens on the host. */
export function planLoadBalancerAddresses(addresses: readonly string[]): Fragment {
  if (addresses.length === 0) return EMPTY;
  const elements = addresses.map((key) => ({ container: 'load-balancer-addresses', key, value: '' }) as const);
  return { elements, chains: new Map(), sets: new Map() };
}

/** What is to change on an interface, as lines for `ip -batch`. `listing` is what `ip -o -4 address show dev INTERFACE` prints. */
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
  /** Addresses on the interface outside of it are others'. */
  readonly range: AddressRange;
}
