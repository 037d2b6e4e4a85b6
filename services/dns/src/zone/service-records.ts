import type { Service } from '@gantry/objects';
import {
  ABSENT,
  addressSet,
  ANY_PORT,
  candidateSet,
  type ClusterState,
  different,
  EMPTY,
  type Found,
  foundUnlessEmpty,
  oneRecord,
  type RecordSet,
} from './cluster-state.ts';

/** The total weight of the SRV records of one name. Its targets share it, as in CoreDNS. */
const TOTAL_WEIGHT = 100;

/** A port number and the name at which it is reached. */
interface ServedPort {
  readonly port: number;
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
  const { service } = named;
  if (service.spec?.type === 'ExternalName') return externalName(service, below);
  const address = clusterAddress(service);
  const addresses = isHeadless(service)
    ? endpointsOf(state, service).addresses
    : address === undefined
      ? []
      : [address];
  // According to the specification, a headless Service without ready endpoints has no name.
  if (isHeadless(service) && addresses.length === 0) return ABSENT;
  const [label = ''] = below;
  switch (below.length) {
    case 0: {
      const sets = [addressSet(addresses), portSet(state, named, ANY_PORT)];
      return { kind: 'present', sets: sets.filter((set) => set !== undefined) };
    }
    case 1:
      // `_tcp` exists if the Service has a named port of that protocol.
      if (label.startsWith('_')) return portSet(state, named, label) === undefined ? ABSENT : EMPTY;
      return isHeadless(service) ? foundUnlessEmpty(addressSet(endpointsOf(state, service).labelled(label))) : ABSENT;
    case 2:
      return foundUnlessEmpty(portSet(state, named, below.join('.')));
    default:
      return ABSENT;
  }
}

function externalName({ spec }: Service, below: readonly string[]): Found {
  if (below.length > 0) return ABSENT;
  const target = (spec?.externalName ?? '').replace(/\.$/, '');
  return target === '' ? EMPTY : { kind: 'present', sets: [oneRecord({ type: 'CNAME', target })] };
}

/** Returns the records of the ports that these labels lead to. */
function portSet(state: ClusterState, named: NamedService, labels: string): RecordSet | undefined {
  const candidates = () => portsOf(state, named, labels);
  return candidateSet('SRV', candidates, function* (ports) {
    const weight = weightOf(candidates());
    for (const { port, target } of different(ports, sameAs)) yield { type: 'SRV', priority: 0, weight, port, target };
  });
}

const sameAs = ({ port, target }: ServedPort) => `${port} ${target}`;

/** The weight of each port. The count stops at half of the total weight: with more ports, each has the weight 1. */
function weightOf(ports: Iterable<ServedPort>): number {
  let count = 0;
  for (const _ of different(ports, sameAs)) if (++count > TOTAL_WEIGHT / 2) break;
  return Math.max(1, Math.floor(TOTAL_WEIGHT / Math.max(1, count)));
}

/** Yields the ports at which a Service is reached: its own ports, or the ports of each endpoint of a headless Service. */
function* portsOf(state: ClusterState, { service, name }: NamedService, labels: string): Iterable<ServedPort> {
  if (isHeadless(service)) {
    for (const slice of endpointsOf(state, service).slicesWith(labels)) {
      for (const label of slice.labels) {
        for (const port of slice.ports.get(labels) ?? []) yield { port, target: `${label}.${name}` };
      }
    }
  } else if (clusterAddress(service) !== undefined) {
    for (const port of state.ports(service).get(labels) ?? []) yield { port, target: name };
  }
}

function endpointsOf(state: ClusterState, { metadata }: Service) {
  return state.endpoints(metadata.namespace ?? '', metadata.name ?? '');
}
