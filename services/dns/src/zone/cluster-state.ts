import type { Service } from '@gantry/objects';

/** The numbers of ports by the labels that lead to them: `_http._tcp`, `_tcp` for all named ones of the protocol, and `ANY_PORT`. */
export interface ServedPorts {
  get(labels: string): Iterable<number> | undefined;
}

/** All ports, also those without a name. */
export const ANY_PORT = '';

/** Ports, and the endpoints that have them. */
export interface ServedSlice {
  /** The first labels of the endpoints' names. */
  readonly labels: readonly string[];
  readonly ports: ServedPorts;
}

/** The serving endpoints of a Service, indexed so that no answer needs to read all of them. */
export interface ServiceEndpoints {
  /** The different addresses. */
  readonly addresses: readonly string[];
  /** Returns the different addresses of endpoints whose name begins with the label. */
  labelled(label: string): readonly string[];
  /** Returns the slices with a port that has these labels in `ServedPorts`. */
  slicesWith(port: string): Iterable<ServedSlice>;
}

/** The name of an endpoint of a Service. */
export interface EndpointName {
  readonly label: string;
  readonly service: string;
  readonly namespace: string;
}

/** The cluster's state that the zone is built from, read from memory. */
export interface ClusterState {
  service(namespace: string, name: string): Service | undefined;
  /** The ports of a Service. */
  ports(service: Service): ServedPorts;
  /** The endpoints of a Service, headless or not. */
  endpoints(namespace: string, service: string): ServiceEndpoints;
  hasNamespace(name: string): boolean;
  /** Whether a pod of the namespace has the address. */
  hasPod(namespace: string, address: string): boolean;
  /** Returns the Services with this cluster address. */
  servicesAt(address: string): readonly Service[];
  /** Returns the endpoints with the address, of headless Services and others. */
  endpointsAt(address: string): Iterable<EndpointName>;
  /** Grows with every change of the stored cluster state. It is the zone's serial number. */
  serial(): number;
}

/** One record of the cluster's zone, without its owner's name. */
export type RecordData =
  | { readonly type: 'A'; readonly address: string }
  | { readonly type: 'CNAME' | 'PTR' | 'NS'; readonly target: string }
  | {
      readonly type: 'SRV';
      readonly priority: number;
      readonly weight: number;
      readonly port: number;
      readonly target: string;
    }
  | { readonly type: 'TXT'; readonly text: string };

/** The records of one type that a name has: at least one. */
export interface RecordSet<Data extends { readonly type: string } = RecordData> {
  readonly type: Data['type'];
  /** The number of records with which the set may begin. */
  readonly beginnings: number;
  /** The records in order from one of the beginnings. They are made one by one, because an answer may have room for only a few. */
  from(beginning: number): Iterable<Data>;
}

/** The result of a look-up in a zone of this server. */
export type Found =
  /** The name, and everything below it, does not exist: NXDOMAIN. */
  | { readonly kind: 'absent' }
  /** The name exists, perhaps only because names below it exist. */
  | { readonly kind: 'present'; readonly sets: readonly RecordSet[] };

export const ABSENT: Found = { kind: 'absent' };
/** A name without records of its own. */
export const EMPTY: Found = { kind: 'present', sets: [] };

/**
 * The maximum number of candidates for records of one set that are looked at. The longest response holds less than half as many records.
 * Many candidates may be equal, and each product of ports and endpoints is one.
 */
const MAX_CANDIDATES = 8192;

/** Returns a name with these records of one type, or an absent name if there are none. */
export function foundUnlessEmpty(set: RecordSet | undefined): Found {
  return set === undefined ? ABSENT : { kind: 'present', sets: [set] };
}

/** A set of one record. */
export function oneRecord<Data extends { readonly type: string }>(data: Data): RecordSet<Data> {
  return { type: data.type, beginnings: 1, from: () => [data] };
}

/** The address records of different addresses, which may begin with each of them. */
export function addressSet(addresses: readonly string[]): RecordSet | undefined {
  const [only] = addresses;
  if (only === undefined) return undefined;
  if (addresses.length === 1) return oneRecord({ type: 'A', address: only });
  const from = function* (beginning: number): Iterable<RecordData> {
    for (let i = 0; i < addresses.length; i++) {
      yield { type: 'A', address: addresses[(beginning + i) % addresses.length] ?? '' };
    }
  };
  return { type: 'A', beginnings: addresses.length, from };
}

/** The set of records that `toRecords` makes of candidates; undefined if there are none. It is called when the records are needed. */
export function candidateSet<T>(
  type: RecordData['type'],
  candidates: () => Iterable<T>,
  toRecords: (candidates: Iterable<T>) => Iterable<RecordData>,
): RecordSet | undefined {
  for (const _ of candidates()) return { type, beginnings: 1, from: () => toRecords(candidates()) };
  return undefined;
}

/** Returns the different ones among the first candidates. */
export function* different<T>(candidates: Iterable<T>, sameAs: (candidate: T) => string): Iterable<T> {
  const seen = new Set<string>();
  let looked = 0;
  for (const candidate of candidates) {
    if (looked++ === MAX_CANDIDATES) return;
    const key = sameAs(candidate);
    if (seen.has(key)) continue;
    seen.add(key);
    yield candidate;
  }
}
