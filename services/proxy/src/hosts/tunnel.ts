import { createHash } from 'node:crypto';
import { must } from '@gantry/base';
import { type AddressRange, formatIpv4, parseIpv4Range } from '@gantry/objects';
import type { OtherHost } from './plan-hosts.ts';

/** A cluster's VXLAN device on a host. It carries packets to the pods of other hosts. */
export interface Tunnel {
  readonly device: string;
  /** The 24-bit number of the cluster's network. */
  readonly vni: number;
  /** This host's address, the source of the sent packets. */
  readonly local: string;
  readonly linkAddress: string;
}

/** The size in bytes of the outer IPv4, UDP and VXLAN headers and of the inner Ethernet header. */
export const VXLAN_OVERHEAD = 50;

export interface TunnelOptions {
  readonly clusterId: string;
  readonly podBridge: string;
  readonly podRange: AddressRange;
  readonly hostAddress: string;
}

/** The tunnel depends on settings only, so two processes, or a restarted process, have the same tunnel. */
export function tunnelOf({ clusterId, podBridge, podRange, hostAddress }: TunnelOptions): Tunnel {
  return {
    device: tunnelDevice(podBridge),
    vni: tunnelNumber(clusterId),
    local: hostAddress,
    linkAddress: linkAddressOf(podRange),
  };
}

/**
 * Returns the tunnel's name for the cluster with this pod bridge: `gtv-` instead of `gtp-`. An interface name has at most 15 characters.
 */
export function tunnelDevice(podBridge: string): string {
  return podBridge.startsWith('gtp-') ? `gtv-${podBridge.slice(4)}` : `gtv-${podBridge}`.slice(0, 15);
}

/** The number is the same on all hosts of a cluster, and different for most other clusters. */
export function tunnelNumber(clusterId: string): number {
  return Math.max(1, createHash('sha256').update(clusterId).digest().readUIntBE(0, 3));
}

/** The address is unique in the tunnel, because the ranges are. */
function linkAddressOf({ first }: AddressRange): string {
  const octets = formatIpv4(first).split('.').map(Number);
  return ['02', '67', ...octets.map((octet) => octet.toString(16).padStart(2, '0'))].join(':');
}

/** The route to one other host. */
export interface TunnelRoute {
  /** The range of its pods. */
  readonly destination: string;
  /** The first address of its range. No container has it. It is the neighbour that gets the host's packets. */
  readonly gateway: string;
  readonly linkAddress: string;
  /** The host's address. */
  readonly remote: string;
}

export function tunnelRoutes(hosts: readonly OtherHost[]): readonly TunnelRoute[] {
  return hosts.map(({ address, cidr }) => {
    const range = must(parseIpv4Range(cidr), 'the range of a host');
    return {
      destination: cidr,
      gateway: formatIpv4(range.first),
      linkAddress: linkAddressOf(range),
      remote: address,
    };
  });
}
