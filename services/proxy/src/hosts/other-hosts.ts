import { must } from '@gantry/base';
import { type AddressRange, formatIpv4, parseIpv4Range } from '@gantry/objects';
import type { Element, Fragment } from '../rules/fragment.ts';
import type { TunnelRules } from '../rules/table.ts';
import type { HostReach, Topology } from '../rules/topology.ts';
import { CLOSED_ADDRESS_RANGES } from '../rules/transaction.ts';
import type { HostSurroundings, OtherHost } from './plan-hosts.ts';
import { type Tunnel, tunnelOf } from './tunnel.ts';

interface OtherHostsSettings {
  readonly clusterId: string;
  readonly podBridge: string;
  readonly podCidr: string;
  readonly podRange: AddressRange;
  readonly clusterRange: AddressRange;
  readonly controlRange: AddressRange;
  readonly serviceCidr: string;
  /** '' for a host that reaches no others. */
  readonly hostAddress: string;
}

/** What a host needs to reach others. */
interface OtherHostsParts {
  readonly tunnel: Tunnel;
  readonly rules: TunnelRules;
  readonly surroundings: HostSurroundings;
}

/**
 * What a host reaches, and of which range all addresses of pods are. Of a host that reaches no others it is its own: what is beside it in the
 * cluster's range may be another network, with addresses of Services.
 */
export function reachOf({
  hostAddress,
  podRange,
  clusterRange,
}: Pick<OtherHostsSettings, 'hostAddress' | 'podRange' | 'clusterRange'>): Pick<Topology, 'clusterRange'> & {
  readonly reach: HostReach;
} {
  if (hostAddress === '') return { reach: 'own-pods', clusterRange: podRange };
  return { reach: 'other-hosts', clusterRange };
}

/** Undefined for a host without an address for others. */
export function otherHosts(settings: OtherHostsSettings): OtherHostsParts | undefined {
  const { hostAddress, podCidr, podRange, clusterRange, controlRange, serviceCidr } = settings;
  if (hostAddress === '') return undefined;
  const tunnel = tunnelOf(settings);
  const services = must(parseIpv4Range(serviceCidr), 'the range of Service addresses');
  return {
    tunnel,
    rules: { device: tunnel.device, vni: tunnel.vni, gateway: formatIpv4(podRange.first + 1) },
    surroundings: {
      hostAddress,
      podCidr,
      clusterRange,
      reservedRanges: [services, controlRange, ...CLOSED_ADDRESS_RANGES],
    },
  };
}

/** Where the inner source address is in a UDP packet of VXLAN, in bits: after the headers of UDP, VXLAN, Ethernet, and 12 octets of IPv4. */
const INNER_SOURCE = `@th,${(8 + 8 + 14 + 12) * 8},32`;

/**
 * The part of the table for other hosts: from the address of each, packets of the tunnel are accepted that come from its own range. A host
 * has no other way to send as another one's pod, nor as an API server or a DNS server.
 */
export function planHostRules(hosts: readonly OtherHost[]): Fragment {
  const elements: Element[] = [];
  const chains = new Map<string, readonly string[]>();
  for (const { address, cidr } of hosts) {
    const chain = `tunnel-from/${address}`;
    const { first, last } = must(parseIpv4Range(cidr), 'the range of a host');
    const mask = 2 ** 32 - (last - first + 1);
    chains.set(chain, [`${INNER_SOURCE} & 0x${hex(mask)} == 0x${hex(first)} accept`, 'drop']);
    elements.push({ container: 'tunnel-sources', key: address, value: `goto ${chain}` });
    elements.push({ container: 'other-hosts', key: cidr, value: '' });
  }
  return { elements, chains, sets: new Map() };
}

function hex(number: number): string {
  return number.toString(16).padStart(8, '0');
}
