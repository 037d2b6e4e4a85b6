import type { KubeObject } from '@gantry/objects';

export type LookupResource = 'certificatesigningrequests' | 'nodes' | 'pods' | 'secrets' | 'serviceaccounts';

/** Reads objects from the watch cache: what tokens and rights depend on. */
export interface ObjectLookup {
  get(resource: LookupResource, namespace: string, name: string): KubeObject | undefined;
  /** Pods that are bound to a node. */
  podsOnNode(nodeName: string): Iterable<KubeObject>;
}
