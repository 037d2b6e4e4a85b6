import { must } from '@gantry/base';
import { type AddressRange, formatIpv4, parseIpv4Range } from '@gantry/objects';
import { CLOSED_ADDRESS_RANGES } from '../rules/closed-ranges.ts';
import type { TunnelRules } from '../rules/table.ts';
import type { HostReach, Topology } from '../rules/topology.ts';
import type { HostSurroundings } from './plan-hosts.ts';
import { type Tunnel, tunnelOf } from './tunnel.ts';

export interface OtherHostsSettings {
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
export interface OtherHostsParts {
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
