import type { KubeObject, Lease } from '@gantry/objects';

export type LookupResource =
  | 'certificatesigningrequests'
  | 'leases'
  | 'nodes'
  | 'persistentvolumes'
  | 'pods'
  | 'secrets'
  | 'serviceaccounts';

/** Reads the cached objects on which tokens and rights depend. */
export interface ObjectLookup {
  get(resource: LookupResource, namespace: string, name: string): KubeObject | undefined;
  /** Pods that are bound to a node. */
  podsOnNode(nodeName: string): Iterable<KubeObject>;
  /** Ingresses of a namespace. */
  ingressesIn(namespace: string): Iterable<KubeObject>;
  /** Whether a Lease has not been renewed within its duration. A missing Lease counts as expired. */
  hasExpired(lease: Lease | undefined): boolean;
}
