import type { Plan } from '@gantry/base';
import { ENGINE_LABEL, type Node } from '@gantry/objects';
import type { NodeRanges } from './node-ranges.ts';

export type Action =
  /** `tries` ranges were in use before this one. */
  | { readonly kind: 'assign'; readonly cidr: string; readonly tries: number }
  | {
      readonly kind: 'event';
      readonly reason: 'CIDRNotAvailable' | 'CIDRAssignmentFailed';
      readonly message: string;
    };

export interface ObservedNode {
  readonly node: Node;
  readonly ranges: NodeRanges;
  /** The ranges that Nodes have, by the engine that they run on; this Node's is not among them. */
  readonly assigned: ReadonlyMap<string, ReadonlySet<string>>;
}

/** The engine that a Node runs on; '' for a Node of no agent of ours. */
export function engineOf({ metadata }: Node): string {
  return metadata.labels?.[ENGINE_LABEL] ?? '';
}

/** The ranges that a Node has; none before they are assigned. */
export function rangesOf({ spec }: Node): readonly string[] {
  return spec?.podCIDRs ?? (spec?.podCIDR === undefined || spec.podCIDR === '' ? [] : [spec.podCIDR]);
}

export function addressOf({ status }: Node): string {
  return status?.addresses?.find(({ type }) => type === 'InternalIP')?.address ?? '';
}

/**
 * Whether a Node is to get a range: one of an engine, which has none yet. A Node whose address is in none of the cluster's ranges has a
 * network that the cluster does not know.
 */
export function wantsRange(node: Node, ranges: NodeRanges): boolean {
  if (node.metadata.deletionTimestamp !== undefined || engineOf(node) === '' || rangesOf(node).length > 0) return false;
  const address = addressOf(node);
  return address === '' || ranges.containing(address) !== undefined;
}

/**
 * The range of a Node is that of its host's network of pods, and all Nodes of a host have the same. A Node that has an address already is in
 * a network: the range that the address is part of is its own. One without an address is of a host that joins, which makes its network in
 * the range that it gets here. A range is given once and never taken back: it goes with the Nodes of its host.
 */
export function planRange({ node, ranges, assigned }: ObservedNode): Plan<Action> {
  if (!wantsRange(node, ranges)) return { actions: [] };
  const engine = engineOf(node);
  const others = new Set([...assigned].flatMap(([name, cidrs]) => (name === engine ? [] : [...cidrs])));
  const address = addressOf(node);
  const place = ranges.containing(address);
  if (place !== undefined) return { actions: [planPlace(node, place, others)] };
  const [own] = assigned.get(engine) ?? [];
  const chosen = own === undefined ? ranges.free(others) : { cidr: own, tries: 0 };
  if (chosen !== undefined) return { actions: [{ kind: 'assign', ...chosen }] };
  const why = `all ${ranges.size} ranges of ${ranges.clusterCidr} (GANTRY_CLUSTER_CIDR) are in use`;
  return { actions: [failure(node, 'CIDRNotAvailable', why)] };
}

function planPlace(node: Node, cidr: string, others: ReadonlySet<string>): Action {
  if (!others.has(cidr)) return { kind: 'assign', cidr, tries: 0 };
  const why = `its address ${addressOf(node)} is in the range ${cidr} of another host`;
  return failure(node, 'CIDRAssignmentFailed', why);
}

/** With the reasons and the beginning of the message that Kubernetes' range allocator has. */
function failure({ metadata }: Node, reason: 'CIDRNotAvailable' | 'CIDRAssignmentFailed', why: string): Action {
  return { kind: 'event', reason, message: `Node ${metadata.name ?? ''} status is now: ${reason}: ${why}` };
}
