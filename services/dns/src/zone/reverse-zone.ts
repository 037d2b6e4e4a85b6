import {
  candidateSet,
  type ClusterState,
  different,
  EMPTY,
  type Found,
  foundUnlessEmpty,
  type RecordSet,
} from './cluster-state.ts';
import { CLUSTER_DOMAIN } from './cluster-zone.ts';
import { isHeadless } from './service-records.ts';

const SUFFIX = '.in-addr.arpa';
const OCTETS = 4;

/** A range of IPv4 addresses as numbers. */
interface Range {
  readonly first: number;
  readonly last: number;
  /** The number of octets in the zone's name for an address of the range. */
  readonly octets: number;
}

/** A name below `in-addr.arpa` that this server answers, and its zone. */
export interface ReverseName {
  readonly zone: string;
  readonly found: Found;
}

/**
 * The names of addresses. This server is the authority of the cluster's own ranges, and knows the endpoints of Services outside of them.
 * The host's resolver answers for all other addresses.
 */
export class ReverseZone {
  readonly #ranges: readonly Range[];

  /** `cidrs`: the Service range and the pod ranges of all hosts. */
  constructor(cidrs: readonly string[]) {
    this.#ranges = cidrs.map(parseRange);
  }

  /** Returns undefined if the name is not in the cluster. `name` is in lower case, without a final dot. */
  lookUp(state: ClusterState, name: string): ReverseName | undefined {
    if (!name.endsWith(SUFFIX)) return undefined;
    const labels = name.slice(0, -SUFFIX.length).split('.');
    const octets = labels.toReversed().slice(0, OCTETS);
    if (!octets.every((octet) => /^(0|[1-9]\d{0,2})$/.test(octet) && Number(octet) < 256)) return undefined;
    const range = this.#ranges.find((one) => isWithin(one, octets.map(Number)));
    const names = labels.length === OCTETS ? nameSet(state, octets.join('.')) : undefined;
    if (range === undefined) return names === undefined ? undefined : { zone: name, found: foundUnlessEmpty(names) };
    const zone = `${octets.slice(0, range.octets).toReversed().join('.')}${SUFFIX}`;
    return { zone, found: labels.length < OCTETS ? EMPTY : foundUnlessEmpty(names) };
  }
}

/** Kubernetes' DNS specification, sections 2.3.3 and 2.4.3: the name of the Service, and of each endpoint of a headless Service. */
function nameSet(state: ClusterState, address: string): RecordSet | undefined {
  return candidateSet(
    'PTR',
    () => namesOf(state, address),
    function* (names) {
      for (const target of different(names, (name) => name)) yield { type: 'PTR', target };
    },
  );
}

function* namesOf(state: ClusterState, address: string): Iterable<string> {
  for (const { metadata } of state.servicesAt(address)) yield nameOf(metadata.namespace, metadata.name);
  for (const { label, service, namespace } of state.endpointsAt(address)) {
    const found = state.service(namespace, service);
    if (found !== undefined && isHeadless(found)) yield `${label}.${nameOf(namespace, service)}`;
  }
}

function nameOf(namespace: string | undefined, service: string | undefined): string {
  return `${service ?? ''}.${namespace ?? ''}.svc.${CLUSTER_DOMAIN}`;
}

/** Whether all addresses with these leading octets are in the range, and the octets contain at least the zone's octets. */
function isWithin({ first, last, octets: least }: Range, octets: readonly number[]): boolean {
  if (octets.length < least) return false;
  const size = 256 ** (OCTETS - octets.length);
  const base = octets.reduce((sum, octet) => sum * 256 + octet, 0) * size;
  return base >= first && base + size - 1 <= last;
}

function parseRange(cidr: string): Range {
  const [address = '', bits = ''] = cidr.split('/');
  const size = 2 ** (32 - Number(bits));
  const base = address.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0);
  const first = base - (base % size);
  return { first, last: first + size - 1, octets: Math.ceil(Number(bits) / 8) };
}
