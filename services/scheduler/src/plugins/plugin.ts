import type { PodInfo } from '../pod-info.ts';
import type { NodeInfo } from '../snapshot.ts';

/** A change of the cluster that may let a pod fit that did not. */
export type ClusterChange =
  | { readonly kind: 'node-added'; readonly node: NodeInfo }
  | { readonly kind: 'node-changed'; readonly node: NodeInfo; readonly old: NodeInfo }
  /** A pod has left a node, or has ended. */
  | { readonly kind: 'pod-gone'; readonly pod: PodInfo };

/** Says where a pod cannot go. Pure. */
export interface FilterPlugin {
  readonly name: string;
  /** Why the pod cannot go to the node, in Kubernetes' words; empty when it can. */
  readonly filter: (pod: PodInfo, node: NodeInfo) => readonly string[];
  /** Whether its refusal could be cured by taking pods off the node; never when absent. */
  readonly curedByRoom?: (pod: PodInfo, node: NodeInfo) => boolean;
  /** Whether a change may end this plugin's refusal of the pod: a hint, wrong only on the side of trying in vain. */
  readonly helps: (change: ClusterChange, pod: PodInfo) => boolean;
}

/** Says where a pod goes rather. Pure. */
export interface ScorePlugin {
  readonly name: string;
  readonly weight: number;
  /** Scores from 0 to 100, in the order of the nodes, all of which fit. */
  readonly score: (pod: PodInfo, nodes: readonly NodeInfo[]) => readonly number[];
}

/** Whether a change is a node that now passes `filter`: the hint of plugins that look at nothing but the node. */
export function nodePasses(filter: FilterPlugin['filter']): FilterPlugin['helps'] {
  return (change, pod) => change.kind !== 'pod-gone' && filter(pod, change.node).length === 0;
}
