import type { Instant } from '@gantry/base';

/** A scale-down is final when no successor of the same number has come within this time. */
export const SUCCESSOR_MS = 10_000;
/** An agent whose heartbeat has not moved for so long is dead, or frozen: its host's custodian acts for it. */
export const DEAD_MS = 5_000;

/** One of this engine's nodes, as the custodian sees it. All times are of its own monotonic clock. */
export interface ObservedNode {
  readonly name: string;
  /** Whether its Node object exists. */
  readonly object: 'present' | 'absent';
  readonly schedulable: 'yes' | 'no';
  /** Its agent's container; `unknown` for nodes that no numbered container runs. */
  readonly container: 'running' | 'stopped' | 'missing' | 'unknown';
  readonly missingSinceMs: Instant | undefined;
  /** When its heartbeat was last seen to move; undefined when it has none. */
  readonly heartbeatMs: Instant | undefined;
  /** Pods bound to it that nobody has deleted yet. */
  readonly livingPods: readonly { readonly namespace: string; readonly name: string; readonly uid: string }[];
  /** Pods bound to it, deleted or not, and pods whose containers exist. */
  readonly podCount: number;
  readonly containerCount: number;
}

export type CustodianAction =
  /** Removes containers of deleted and replaced pods in the dead agent's place, for as long as this is planned. */
  | { readonly kind: 'tidy'; readonly node: string; readonly object: 'present' | 'absent' }
  | { readonly kind: 'cordon'; readonly node: string }
  | { readonly kind: 'deletePod'; readonly namespace: string; readonly name: string; readonly uid: string }
  | { readonly kind: 'removeNode'; readonly node: string };

/** What the host's custodian does for the other nodes of its engine. Living agents are left alone. */
export function planCustodian(nodes: readonly ObservedNode[], nowMs: Instant): readonly CustodianAction[] {
  return nodes.flatMap((node) => planNode(node, nowMs));
}

function planNode(node: ObservedNode, nowMs: Instant): readonly CustodianAction[] {
  const isAlive = node.heartbeatMs !== undefined && nowMs - node.heartbeatMs < DEAD_MS;
  const scaledAway =
    node.container === 'missing' && node.missingSinceMs !== undefined && nowMs - node.missingSinceMs >= SUCCESSOR_MS;
  if (isAlive) return [];
  const tidy: CustodianAction = { kind: 'tidy', node: node.name, object: node.object };
  if (node.object === 'absent') {
    // An agent that is just starting has no Node yet, but its container runs.
    return node.container !== 'running' && node.containerCount > 0 ? [tidy] : [];
  }
  if (!scaledAway) return [tidy];
  if (node.podCount === 0 && node.containerCount === 0) return [{ kind: 'removeNode', node: node.name }];
  return [
    ...(node.schedulable === 'yes' ? [{ kind: 'cordon' as const, node: node.name }] : []),
    ...node.livingPods.map((pod) => ({ kind: 'deletePod' as const, ...pod })),
    tidy,
  ];
}
