import type { EndpointSlice, Service } from '@gantry/objects';

/** An endpoint that serves, as records show it: of one address and the ports of its slice. */
export interface ServedEndpoint {
  readonly address: string;
  /** The first label of its name: the hostname of the pod, else its address with dashes. */
  readonly label: string;
}

/** What the zone is made of, read from memory. */
export interface ClusterState {
  service(namespace: string, name: string): Service | undefined;
  /** The slices of a Service. */
  slices(namespace: string, service: string): readonly EndpointSlice[];
  hasNamespace(name: string): boolean;
  /** Whether a pod of the namespace has the address. */
  hasPod(namespace: string, address: string): boolean;
  /** The Services whose cluster address this is. */
  servicesAt(address: string): readonly Service[];
  /** The slices that name the address, of headless Services and others. */
  slicesAt(address: string): readonly EndpointSlice[];
  /** Grows with every change of what the cluster stores; the zone's serial number. */
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

/** What a name of a zone that this server is the authority of has. */
export type Found =
  /** The name, and everything below it, does not exist: NXDOMAIN. */
  | { readonly kind: 'absent' }
  /** The name exists, perhaps only because names below it do. */
  | { readonly kind: 'present'; readonly records: readonly RecordData[] };

export const ABSENT: Found = { kind: 'absent' };
/** A name without records of its own. */
export const EMPTY: Found = { kind: 'present', records: [] };

/** A name with these records; absent where there are none. */
export function foundUnlessEmpty(records: readonly RecordData[]): Found {
  return records.length === 0 ? ABSENT : { kind: 'present', records };
}
