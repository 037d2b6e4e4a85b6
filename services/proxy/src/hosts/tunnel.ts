import { createHash } from 'node:crypto';
import { must } from '@gantry/base';
import { type AddressRange, formatIpv4, parseIpv4Range } from '@gantry/objects';
import type { OtherHost } from './plan-hosts.ts';

/** The VXLAN device of a cluster on a host, by which packets go to pods of other hosts. */
export interface Tunnel {
  readonly device: string;
  /** The number of the cluster's network, 24 bits. */
  readonly vni: number;
  /** This host's address, from which packets are sent. */
  readonly local: string;
  readonly linkAddress: string;
}

/** Outer IPv4, UDP and VXLAN headers, and the inner Ethernet header, in bytes. */
export const VXLAN_OVERHEAD = 50;

export interface TunnelOptions {
  readonly clusterId: string;
  readonly podBridge: string;
  readonly podRange: AddressRange;
  readonly hostAddress: string;
}

/** The tunnel follows from settings alone: two processes, or one that was started again, have the same. */
export function tunnelOf({ clusterId, podBridge, podRange, hostAddress }: TunnelOptions): Tunnel {
  return {
    device: tunnelDevice(podBridge),
    vni: tunnelNumber(clusterId),
    local: hostAddress,
    linkAddress: linkAddressOf(podRange),
  };
}

/** Of the cluster whose pods' bridge has this name: `gtv-` instead of `gtp-`. An interface's name has at most 15 characters. */
export function tunnelDevice(podBridge: string): string {
  return podBridge.startsWith('gtp-') ? `gtv-${podBridge.slice(4)}` : `gtv-${podBridge}`.slice(0, 15);
}

/** The same on all hosts of a cluster, and another one for most other clusters. */
export function tunnelNumber(clusterId: string): number {
  return Math.max(1, createHash('sha256').update(clusterId).digest().readUIntBE(0, 3));
}

/** Unique in the tunnel, as the ranges are. */
function linkAddressOf({ first }: AddressRange): string {
  const octets = formatIpv4(first).split('.').map(Number);
  return ['02', '67', ...octets.map((octet) => octet.toString(16).padStart(2, '0'))].join(':');
}

/** What leads to one other host. */
export interface TunnelRoute {
  /** The range of its pods. */
  readonly destination: string;
  /** The first address of its range, which no container has: the neighbour that its packets are given to. */
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
