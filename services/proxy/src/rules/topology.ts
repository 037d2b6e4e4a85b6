import type { AddressRange } from '@gantry/objects';
import { createHash } from 'node:crypto';

/** A Node of this host, as the rules need it. */
export interface LocalNode {
  readonly name: string;
  /** Its InternalIP. */
  readonly address: string;
  /** Of its label `topology.kubernetes.io/zone`; '' without it. */
  readonly zone: string;
}

/**
 * Which pods a host reaches. Where it reaches no others, what is on it is not judged by the ranges of Nodes: one that a Node was given before
 * the range of the host was changed stays in its object.
 */
export type HostReach = 'own-pods' | 'other-hosts';

/** Where the rules apply: the pods and Nodes of one Docker host. */
export interface Topology {
  /** The addresses of this host's pods, as text and as numbers. */
  readonly podCidr: string;
  readonly podRange: AddressRange;
  /** The addresses of the pods of all hosts that this one reaches. */
  readonly clusterRange: AddressRange;
  /** The addresses of ClusterIPs. */
  readonly serviceCidr: string;
  /** The bridge of this host's pods. */
  readonly podBridge: string;
  /** What no Service leads to, whatever its endpoints say: the control network and `CLOSED_RANGES`. */
  readonly closedRanges: readonly AddressRange[];
  /** By name. */
  readonly nodes: ReadonlyMap<string, LocalNode>;
}

/** Names in the packet filter have at most 255 characters, of which a Service's port takes up to 196. */
const MAX_NODE_PART = 40;

/** A Node's name as part of a name in the packet filter: a long one is cut, and told apart by a digest. */
export function nodePart({ name }: Pick<LocalNode, 'name'>): string {
  if (name.length <= MAX_NODE_PART) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 16);
  return `${name.slice(0, MAX_NODE_PART - digest.length - 1)}-${digest}`;
}
