import type { AddressRange } from '@gantry/objects';
import { createHash } from 'node:crypto';

/** A Node of this host, as the rules need it. */
export interface LocalNode {
  readonly name: string;
  /** The Node's InternalIP. */
  readonly address: string;
  /** The value of the label `topology.kubernetes.io/zone`. Empty if the label is missing. */
  readonly zone: string;
}

/**
 * Which pods a host reaches. A host that reaches no other hosts does not check its pods by the ranges of Nodes: if the host's range was
 * changed, the Node object keeps its old range.
 */
export type HostReach = 'own-pods' | 'other-hosts';

/** The area of the rules: the pods and Nodes of one Docker host. */
export interface Topology {
  /** The addresses of this host's pods, as text and as numbers. */
  readonly podCidr: string;
  readonly podRange: AddressRange;
  /** The addresses of the pods of all hosts that this host reaches. */
  readonly clusterRange: AddressRange;
  /** The range of ClusterIPs. */
  readonly serviceCidr: string;
  /** The bridge of this host's pods. */
  readonly podBridge: string;
  /** The ranges that no Service leads to, whatever its endpoints are: the control network and `CLOSED_RANGES`. */
  readonly closedRanges: readonly AddressRange[];
  /** By name. */
  readonly nodes: ReadonlyMap<string, LocalNode>;
}

/** A name in the packet filter has at most 255 characters. A Service's port takes up to 196 of them. */
const MAX_NODE_PART = 40;

/** Returns a Node's name as part of a name in the packet filter. A long name is cut and gets a digest, which keeps it unique. */
export function nodePart({ name }: Pick<LocalNode, 'name'>): string {
  if (name.length <= MAX_NODE_PART) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 16);
  return `${name.slice(0, MAX_NODE_PART - digest.length - 1)}-${digest}`;
}
