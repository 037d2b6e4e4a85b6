import type { EndpointSlice, Service } from '@gantry/objects';
import {
  ABSENT,
  type ClusterState,
  EMPTY,
  type Found,
  foundUnlessEmpty,
  type RecordData,
  type ServedEndpoint,
} from './cluster-state.ts';

/** The total weight of the SRV records of one name. Its targets share it, as in CoreDNS. */
const TOTAL_WEIGHT = 100;

interface ServedPort {
  readonly name: string;
  /** In lower case. */
  readonly protocol: string;
  readonly port: number;
  /** The name at which the port is reached. */
  readonly target: string;
}

/** A Service and the full name of its records. */
interface NamedService {
  readonly service: Service;
  readonly name: string;
}

export function isHeadless({ spec }: Service): boolean {
  return spec?.type !== 'ExternalName' && spec?.clusterIP === 'None';
}

/** Returns the cluster address of a Service, or undefined if it has none. */
export function clusterAddress({ spec }: Service): string | undefined {
  const address = spec?.clusterIP ?? '';
  return spec?.type === 'ExternalName' || address === '' || address === 'None' ? undefined : address;
}

/**
 * Returns the records of a Service's name or of a name below it. `below` are the labels below the Service's name, the topmost last. As in
 * Kubernetes' DNS specification 1.1.0, sections 2.3 to 2.5: the Service's own address or the addresses of its endpoints, one record per
 * named port, and one name per endpoint of a headless Service.
 */
export function serviceRecords(state: ClusterState, named: NamedService, below: readonly string[]): Found {
  const { service, name } = named;
  if (service.spec?.type === 'ExternalName') return externalName(service, below);
  const slices = isHeadless(service) ? state.slices(...keyOf(service)) : [];
  const endpoints = slices.flatMap((slice) => servedEndpoints(slice).map((endpoint) => ({ slice, endpoint })));
  // According to the specification, a headless Service without ready endpoints has no name.
  if (isHeadless(service) && endpoints.length === 0) return ABSENT;
  switch (below.length) {
    case 0: {
      const addresses = isHeadless(service) ? endpoints.map(({ endpoint }) => endpoint.address) : ownAddress(service);
      const ports = portsOf(service, name, slices);
      return { kind: 'present', records: [...addressRecords(addresses), ...portRecords(ports)] };
    }
    case 1:
      return belowService(
        below[0] ?? '',
        named,
        slices,
        endpoints.map(({ endpoint }) => endpoint),
      );
    case 2: {
      const [port = '', protocol = ''] = below;
      const wanted = portsOf(service, name, slices).filter(
        (one) => `_${one.name}` === port && `_${one.protocol}` === protocol && one.name !== '',
      );
      return foundUnlessEmpty(portRecords(wanted));
    }
    default:
      return ABSENT;
  }
}

/** Looks up `_tcp`, if the Service has a named port of that protocol, or the name of an endpoint. */
function belowService(
  label: string,
  { service, name }: NamedService,
  slices: readonly EndpointSlice[],
  endpoints: readonly ServedEndpoint[],
): Found {
  if (label.startsWith('_')) {
    const isThere = portsOf(service, name, slices).some((one) => one.name !== '' && `_${one.protocol}` === label);
    return isThere ? EMPTY : ABSENT;
  }
  return foundUnlessEmpty(addressRecords(endpoints.filter((one) => one.label === label).map(({ address }) => address)));
}

function externalName({ spec }: Service, below: readonly string[]): Found {
  if (below.length > 0) return ABSENT;
  const target = (spec?.externalName ?? '').replace(/\.$/, '');
  return target === '' ? EMPTY : { kind: 'present', records: [{ type: 'CNAME', target }] };
}

function ownAddress(service: Service): readonly string[] {
  const address = clusterAddress(service);
  return address === undefined ? [] : [address];
}

function addressRecords(addresses: readonly string[]): readonly RecordData[] {
  return [...new Set(addresses)].map((address) => ({ type: 'A', address }));
}

/** Returns the ports at which a Service is reached: its own ports, or the ports of each endpoint of a headless Service. */
function portsOf(service: Service, name: string, slices: readonly EndpointSlice[]): readonly ServedPort[] {
  if (!isHeadless(service)) {
    if (clusterAddress(service) === undefined) return [];
    return (service.spec?.ports ?? []).map((one) => ({
      name: one.name ?? '',
      protocol: (one.protocol ?? 'TCP').toLowerCase(),
      port: one.port,
      target: name,
    }));
  }
  return slices.flatMap((slice) =>
    servedEndpoints(slice).flatMap(({ label }) =>
      (slice.ports ?? []).flatMap(({ name: port = '', protocol = 'TCP', port: number }) =>
        number === undefined
          ? []
          : [{ name: port, protocol: protocol.toLowerCase(), port: number, target: `${label}.${name}` }],
      ),
    ),
  );
}

function portRecords(ports: readonly ServedPort[]): readonly RecordData[] {
  const different = [...new Map(ports.map((one) => [`${one.port} ${one.target}`, one])).values()];
  const weight = Math.max(1, Math.floor(TOTAL_WEIGHT / Math.max(1, different.length)));
  return different.map(({ port, target }) => ({ type: 'SRV', priority: 0, weight, port, target }));
}

function keyOf({ metadata }: Service): [string, string] {
  return [metadata.namespace ?? '', metadata.name ?? ''];
}

/**
 * Returns the endpoints of a slice that names lead to: the ready ones. For a Service with `publishNotReadyAddresses`, the slice marks all
 * endpoints as `ready`. As the API defines, an endpoint without the condition is ready.
 */
export function servedEndpoints(slice: EndpointSlice): readonly ServedEndpoint[] {
  if (slice.addressType !== 'IPv4') return [];
  return (slice.endpoints ?? []).flatMap(({ addresses, conditions, hostname }) => {
    // Consumers use only the first address. The other addresses have no meaning.
    const [address] = addresses;
    if (address === undefined || conditions?.ready === false) return [];
    return [{ address, label: endpointLabel(address, hostname) }];
  });
}

/** Returns the first label of an endpoint's own name. */
function endpointLabel(address: string, hostname: string | undefined): string {
  return hostname === undefined || hostname === '' ? address.replaceAll('.', '-') : hostname.toLowerCase();
}
