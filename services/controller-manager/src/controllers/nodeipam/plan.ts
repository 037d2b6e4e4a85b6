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
  /** The ranges of other Nodes, by engine. */
  readonly assigned: ReadonlyMap<string, ReadonlySet<string>>;
}

/** The engine of a Node; '' for a Node without one of our agents. */
export function engineOf({ metadata }: Node): string {
  return metadata.labels?.[ENGINE_LABEL] ?? '';
}

/** The ranges of a Node; none before they are assigned. */
export function rangesOf({ spec }: Node): readonly string[] {
  return spec?.podCIDRs ?? (spec?.podCIDR === undefined || spec.podCIDR === '' ? [] : [spec.podCIDR]);
}

export function addressOf({ status }: Node): string {
  return status?.addresses?.find(({ type }) => type === 'InternalIP')?.address ?? '';
}

/**
 * Whether a Node should get a range: it has an engine and no range yet. A Node whose address is in no host range belongs to a network that
 * the cluster does not know.
 */
export function wantsRange(node: Node, ranges: NodeRanges): boolean {
  if (node.metadata.deletionTimestamp !== undefined || engineOf(node) === '' || rangesOf(node).length > 0) return false;
  const address = addressOf(node);
  return address === '' || ranges.containing(address) !== undefined;
}

/**
 * Assigns a Node the range of its host's pod network, which all Nodes of a host share. A Node with an address belongs to an existing
 * network: it gets the range that contains the address. A Node without an address belongs to a joining host, which creates its network in
 * the range assigned here. A range is never changed; it is released with the Nodes of its host.
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

/** An Event with the reasons and the start of the message of Kubernetes' range allocator. */
function failure({ metadata }: Node, reason: 'CIDRNotAvailable' | 'CIDRAssignmentFailed', why: string): Action {
  return { kind: 'event', reason, message: `Node ${metadata.name ?? ''} status is now: ${reason}: ${why}` };
}
