import type { Instant } from '@gantry/base';
import { HOLD_MS } from '../fencing/renewals.ts';

/** A scale-down is final when no container of the same number has appeared within this time. */
export const SUCCESSOR_MS = 10_000;
/**
 * When an agent's heartbeat has not changed for this long, the host's custodian acts for the agent, which may be dead, frozen or cut off. By
 * then the agent does not hold its Lease by its own clock (`HOLD_MS`), so it starts no pod that runs at most once.
 */
export const DEAD_MS = HOLD_MS + 1_000;

/** How long disruption budgets may delay a drain. The agent is gone, so its pods cannot keep running. */
export const PATIENCE_MS = 30_000;

/** One of this engine's nodes as observed by the custodian. All times are of the custodian's monotonic clock. */
export interface ObservedNode {
  readonly name: string;
  /** Whether its Node object exists. */
  readonly object: 'present' | 'absent';
  readonly schedulable: 'yes' | 'no';
  /** The container of its agent; `unknown` for an agent without a numbered container. */
  readonly container: 'running' | 'stopped' | 'missing' | 'unknown';
  readonly missingSinceMs: Instant | undefined;
  /** When its heartbeat was last observed to change, or when the node was first observed. */
  readonly heartbeatMs: Instant;
  /** Pods bound to it without a deletion timestamp. */
  readonly livingPods: readonly { readonly namespace: string; readonly name: string; readonly uid: string }[];
  /** The number of pods bound to it, deleted or not, and of pods with containers. */
  readonly podCount: number;
  readonly containerCount: number;
}

/** Pods of a node that the custodian removes. */
export interface CleanedPods {
  readonly node: string;
  readonly object: 'present' | 'absent';
  /** Static pods are separate from pods of the API: they stay for an agent that may come back. */
  readonly pods: 'of-api' | 'static';
}

/** One action of the custodian for one node. */
export type CustodianAction =
  /** Removes containers of deleted and replaced pods in place of the dead agent. It ends when a plan no longer contains it. */
  | ({ readonly kind: 'cleanUp' } & CleanedPods)
  | { readonly kind: 'cordon'; readonly node: string }
  /** Evicts the pod if disruption budgets allow; planned again until the pod is gone or PATIENCE_MS has passed. */
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
    // The agent may be starting: then it has no Node yet, but its container runs.
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
