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
