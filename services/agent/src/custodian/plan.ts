import type { Instant } from '@gantry/base';

/** A scale-down is final when no successor of the same number has come within this time. */
export const SUCCESSOR_MS = 10_000;
/** An agent whose heartbeat has not changed for this long is dead or frozen: the host's custodian acts for it. */
export const DEAD_MS = 5_000;

/** How long disruption budgets may hold up a drain: an agent that is gone cannot keep its pods running for ever. */
export const PATIENCE_MS = 30_000;

/** One of this engine's nodes as observed by the custodian. All times are of its own monotonic clock. */
export interface ObservedNode {
  readonly name: string;
  /** Whether its Node object exists. */
  readonly object: 'present' | 'absent';
  readonly schedulable: 'yes' | 'no';
  /** Its agent's container; `unknown` for an agent without a numbered container. */
  readonly container: 'running' | 'stopped' | 'missing' | 'unknown';
  readonly missingSinceMs: Instant | undefined;
  /** When its heartbeat was last observed to change, or the node was first observed. */
  readonly heartbeatMs: Instant;
  /** Pods bound to it that are not deleted. */
  readonly livingPods: readonly { readonly namespace: string; readonly name: string; readonly uid: string }[];
  /** Pods bound to it, deleted or not, and pods whose containers exist. */
  readonly podCount: number;
  readonly containerCount: number;
}

/** Pods of a node that the custodian removes. */
export interface CleanedPods {
  readonly node: string;
  readonly object: 'present' | 'absent';
  /** Those of the agent's own files apart from those of the API: they stay for an agent that may come back. */
  readonly pods: 'of-api' | 'static';
}

/** One action of the custodian for one node. */
export type CustodianAction =
  /** Removes containers of deleted and replaced pods in place of the dead agent, for as long as this is planned. */
  | ({ readonly kind: 'cleanUp' } & CleanedPods)
  | { readonly kind: 'cordon'; readonly node: string }
  /** Deletes the pod as far as disruption budgets allow; planned again until it is gone or the patience ends. */
  | { readonly kind: 'evictPod'; readonly namespace: string; readonly name: string; readonly uid: string }
  | { readonly kind: 'deletePod'; readonly namespace: string; readonly name: string; readonly uid: string }
  | { readonly kind: 'removeNode'; readonly node: string };

/** The custodian's actions for the other nodes of its engine. Nodes with a living agent get none. */
export function planCustodian(nodes: readonly ObservedNode[], nowMs: Instant): readonly CustodianAction[] {
  return nodes.flatMap((node) => planNode(node, nowMs));
}

function planNode(node: ObservedNode, nowMs: Instant): readonly CustodianAction[] {
  const isAlive = nowMs - node.heartbeatMs < DEAD_MS;
  const missingMs = node.container === 'missing' ? nowMs - (node.missingSinceMs ?? nowMs) : 0;
  const scaledAway = missingMs >= SUCCESSOR_MS;
  if (isAlive) return [];
  const isFinal = scaledAway || node.object === 'absent';
  const kinds: readonly CleanedPods['pods'][] = isFinal ? ['of-api', 'static'] : ['of-api'];
  const cleanUps = kinds.map(
    (pods): CustodianAction => ({ kind: 'cleanUp', node: node.name, object: node.object, pods }),
  );
  if (node.object === 'absent') {
    // An agent that is just starting has no Node yet, but its container runs.
    return node.container !== 'running' && node.containerCount > 0 ? cleanUps : [];
  }
  if (!scaledAway) return cleanUps;
  if (node.podCount === 0 && node.containerCount === 0) return [{ kind: 'removeNode', node: node.name }];
  return [
    ...(node.schedulable === 'yes' ? [{ kind: 'cordon' as const, node: node.name }] : []),
    ...node.livingPods.map(
      (pod) => ({ kind: missingMs < SUCCESSOR_MS + PATIENCE_MS ? 'evictPod' : 'deletePod', ...pod }) as const,
    ),
    ...cleanUps,
  ];
}
