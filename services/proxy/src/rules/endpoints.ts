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
 * Returns the endpoints of a port from all slices, ordered by address. If an address is listed twice, the entry that is not terminating
 * counts, because a pod's address may be given to another pod before the first pod is gone.
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
    // The API writes null for an unknown port and for empty lists.
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

/** The origin of a packet: a Node's pod, or a program of the host. The host is on no Node and in no zone. */
interface Origin {
  readonly node: string;
  readonly zone: string;
}

/** The host itself and clients from outside of it. */
export const HOST: Origin = { node: '', zone: '' };

/**
 * Returns the endpoints for the policy Cluster: the ready ones, narrowed by their hints for the origin. If none is ready, returns those
 * that terminate but still serve.
 */
export function clusterEndpoints(endpoints: readonly RoutedEndpoint[], origin: Origin): readonly RoutedEndpoint[] {
  const ready = endpoints.filter(({ state }) => state === 'ready');
  if (ready.length === 0) return endpoints.filter(({ state }) => state === 'serving-terminating');
  return (
    hinted(ready, ({ nodeHints }) => nodeHints, origin.node) ??
    hinted(ready, ({ zoneHints }) => zoneHints, origin.zone) ??
    ready
  );
}

/** Returns the endpoints for the policy Local on any of the nodes: the ready ones, or else those that terminate but still serve. */
export function localEndpoints(
  endpoints: readonly RoutedEndpoint[],
  isLocal: (node: string) => boolean,
): readonly RoutedEndpoint[] {
  const local = endpoints.filter(({ node }) => isLocal(node));
  const ready = local.filter(({ state }) => state === 'ready');
  return ready.length > 0 ? ready : local.filter(({ state }) => state === 'serving-terminating');
}

/** Whether any endpoint could take a packet from any origin. */
export function hasUsable(endpoints: readonly RoutedEndpoint[]): boolean {
  return endpoints.some(({ state }) => state !== 'unusable');
}

/** Hints count only if every ready endpoint has some and one of them is for the origin. */
function hinted(
  ready: readonly RoutedEndpoint[],
  hintsOf: (endpoint: RoutedEndpoint) => readonly string[],
  place: string,
): readonly RoutedEndpoint[] | undefined {
  if (ready.some((endpoint) => hintsOf(endpoint).length === 0)) return undefined;
  const found = ready.filter((endpoint) => hintsOf(endpoint).includes(place));
  return found.length > 0 ? found : undefined;
}
