/** The sets and maps of the table that Services, Nodes, pods and policies have elements in. */
export type Container =
  | 'cluster-addresses'
  | 'services'
  | 'node-ports'
  | 'endpoints'
  | 'node-port-endpoints'
  | 'no-endpoints'
  | 'no-endpoint-node-ports'
  | 'source-checked'
  | 'own-addresses'
  | 'node-addresses'
  | 'load-balancer-addresses'
  | 'agents'
  | 'host-ports'
  | 'any-host-ports'
  | 'tunnel-sources'
  | 'other-hosts'
  | `pods-of/${string}`
  | 'ingress-isolated'
  | 'egress-isolated'
  | 'always-open'
  | `peers/${string}`
  | `named-ports/${string}`;

/** An element of a set (with an empty `value`) or of a map. */
export interface Element {
  readonly container: Container;
  readonly key: string;
  readonly value: string;
}

/** One owner's part of the table, in nftables' language. */
export interface Fragment {
  readonly elements: readonly Element[];
  /** Rules by chain. Owners that share a chain have the same rules for it. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
  /** The definitions of the owner's own sets. */
  readonly sets: ReadonlyMap<string, string>;
}

export const EMPTY: Fragment = { elements: [], chains: new Map(), sets: new Map() };
