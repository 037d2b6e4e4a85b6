import type { KubeObject, Lease } from '@gantry/objects';

export type LookupResource =
  | 'certificatesigningrequests'
  | 'leases'
  | 'nodes'
  | 'persistentvolumes'
  | 'pods'
  | 'secrets'
  | 'serviceaccounts';

/** Reads objects from the watch cache: what tokens and rights depend on. */
export interface ObjectLookup {
  get(resource: LookupResource, namespace: string, name: string): KubeObject | undefined;
  /** Pods that are bound to a node. */
  podsOnNode(nodeName: string): Iterable<KubeObject>;
  /** Ingresses of a namespace. */
  ingressesIn(namespace: string): Iterable<KubeObject>;
  /** Whether a Lease has not been renewed for its duration. One that does not exist has. */
  hasExpired(lease: Lease | undefined): boolean;
}
