import type { EndpointSlice, Service } from '@gantry/objects';

/** A serving endpoint for the records: one address with the name's first label. */
export interface ServedEndpoint {
  readonly address: string;
  /** The first label of the endpoint's name: the hostname of the pod, or else its address with dashes. */
  readonly label: string;
}

/** The cluster's state that the zone is built from, read from memory. */
export interface ClusterState {
  service(namespace: string, name: string): Service | undefined;
  /** The slices of a Service. */
  slices(namespace: string, service: string): readonly EndpointSlice[];
  hasNamespace(name: string): boolean;
  /** Whether a pod of the namespace has the address. */
  hasPod(namespace: string, address: string): boolean;
  /** Returns the Services with this cluster address. */
  servicesAt(address: string): readonly Service[];
  /** Returns the slices with the address, of headless Services and others. */
  slicesAt(address: string): readonly EndpointSlice[];
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

/** The result of a look-up in a zone of this server. */
export type Found =
  /** The name, and everything below it, does not exist: NXDOMAIN. */
  | { readonly kind: 'absent' }
  /** The name exists, perhaps only because names below it exist. */
  | { readonly kind: 'present'; readonly records: readonly RecordData[] };

export const ABSENT: Found = { kind: 'absent' };
/** A name without records of its own. */
export const EMPTY: Found = { kind: 'present', records: [] };

/** Returns a name with these records, or an absent name if there are none. */
export function foundUnlessEmpty(records: readonly RecordData[]): Found {
  return records.length === 0 ? ABSENT : { kind: 'present', records };
}
