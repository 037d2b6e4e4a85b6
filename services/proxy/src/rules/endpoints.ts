import { type Endpoint, type EndpointSlice, isWithin, parseIpv4 } from '@gantry/objects';
import type { Protocol, RoutedPort } from './service-port.ts';
import type { Topology } from './topology.ts';

/** One address and port behind a Service's port. */
export interface RoutedEndpoint {
  readonly address: string;
  readonly port: number;
  readonly node: string;
  readonly state: 'ready' | 'serving-terminating' | 'unusable';
  readonly zoneHints: readonly string[];
  readonly nodeHints: readonly string[];
}

const PROTOCOLS: Readonly<Record<Protocol, string>> = { tcp: 'TCP', udp: 'UDP', sctp: 'SCTP' };

/**
 * The endpoints of a port in all its slices, ordered by address. Where an address is listed twice, one that is not terminating counts:
 * a pod's address may be given to another pod before the first one is gone.
 */
export function endpointsOf(
  port: RoutedPort,
  slices: readonly EndpointSlice[],
  topology: Pick<Topology, 'closedRanges'>,
): readonly RoutedEndpoint[] {
  const all = new Map<string, RoutedEndpoint>();
  for (const slice of slices) {
    if (slice.addressType !== 'IPv4') continue;
    const number = slice.ports?.find(
      ({ name, protocol }) => (name ?? '') === port.name && (protocol ?? 'TCP') === PROTOCOLS[port.protocol],
    )?.port;
    // The API writes null for a port that is not known, and for empty lists.
    if (typeof number !== 'number') continue;
    for (const endpoint of slice.endpoints ?? []) {
      const found = routedEndpoint(endpoint, number);
      if (found === undefined || topology.closedRanges.some((range) => isWithin(range, found.address))) continue;
      const key = `${found.address}:${number}`;
      if (!(endpoint.conditions?.terminating ?? false) || !all.has(key)) all.set(key, found);
    }
  }
  return [...all.values()].toSorted(byAddress);
}

function routedEndpoint(endpoint: Endpoint, port: number): RoutedEndpoint | undefined {
  const [address = ''] = endpoint.addresses;
  if (parseIpv4(address) === undefined) return undefined;
  const { ready, serving, terminating } = endpoint.conditions ?? {};
  const isServingOn = (serving ?? true) && (terminating ?? false);
  return {
    address,
    port,
    node: endpoint.nodeName ?? '',
    state: (ready ?? true) ? 'ready' : isServingOn ? 'serving-terminating' : 'unusable',
    zoneHints: (endpoint.hints?.forZones ?? []).map(({ name }) => name),
    nodeHints: (endpoint.hints?.forNodes ?? []).map(({ name }) => name),
  };
}

function byAddress(one: RoutedEndpoint, other: RoutedEndpoint): number {
  return (parseIpv4(one.address) ?? 0) - (parseIpv4(other.address) ?? 0) || one.port - other.port;
}
