import { must } from '@gantry/base';
import { type AddressRange, gatewayOf, parseIpv4Range } from '@gantry/objects';
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
  /** Empty on a host that reaches no other hosts. */
  readonly hostAddress: string;
}

/** The parts that a host needs to reach other hosts. */
interface OtherHostsParts {
  readonly tunnel: Tunnel;
  readonly rules: TunnelRules;
  readonly surroundings: HostSurroundings;
}

/**
 * Returns what a host reaches, and the range that contains all pod addresses. For a host that reaches no other hosts, this is its own
 * range. The rest of the cluster's range may then be another network that has addresses of Services.
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

/** Undefined on a host that has no address for other hosts. */
export function otherHosts(settings: OtherHostsSettings): OtherHostsParts | undefined {
  const { hostAddress, podCidr, clusterRange, controlRange, serviceCidr } = settings;
  if (hostAddress === '') return undefined;
  const tunnel = tunnelOf(settings);
  const services = must(parseIpv4Range(serviceCidr), 'the range of Service addresses');
  return {
    tunnel,
    rules: { device: tunnel.device, vni: tunnel.vni, gateway: must(gatewayOf(podCidr), 'the range of pods') },
    surroundings: {
      hostAddress,
      podCidr,
      clusterRange,
      reservedRanges: [services, controlRange, ...CLOSED_ADDRESS_RANGES],
    },
  };
}

/** The offset in bits of the inner source address in a VXLAN packet: after the UDP, VXLAN and Ethernet headers and 12 octets of IPv4. */
const INNER_SOURCE = `@th,${(8 + 8 + 14 + 12) * 8},32`;

/**
 * The table's part for other hosts. For each host's address it accepts only tunnel packets whose source is in the host's own range. So a
 * host cannot send packets as a pod of another host, an API server or a DNS server.
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
