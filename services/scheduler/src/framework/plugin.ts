import type { PersistentVolumeClaim } from '@gantry/objects';
import type { Labels, NamespaceLabels } from './pod-affinity.ts';
import type { PodInfo } from './pod-info.ts';
import { type NodeInfo, withPod } from './snapshot.ts';

/** A change of the cluster that may make a refused pod schedulable. */
export type ClusterChange =
  | { readonly kind: 'node-added'; readonly node: NodeInfo }
  | { readonly kind: 'node-changed'; readonly node: NodeInfo; readonly old: NodeInfo }
  | { readonly kind: 'node-removed'; readonly node: NodeInfo }
  /** A pod is on a node that it was not on before. */
  | { readonly kind: 'pod-placed'; readonly pod: PodInfo }
  /** A pod on a node has other labels. */
  | { readonly kind: 'pod-relabelled'; readonly pod: PodInfo; readonly old: PodInfo }
  /** A pod was deleted or has finished. */
  | { readonly kind: 'pod-gone'; readonly pod: PodInfo }
  /** A pod on a node holds less of a resource than before. */
  | { readonly kind: 'pod-shrunk' }
  /** A namespace was added or removed, or has other labels. */
  | { readonly kind: 'namespace-changed'; readonly name: string; readonly labels: Labels; readonly old: Labels }
  | { readonly kind: 'claim-changed'; readonly claim: PersistentVolumeClaim }
  | { readonly kind: 'volume-changed' | 'class-changed' };

/** Excludes nodes for a pod. Pure. */
export interface FilterPlugin {
  readonly name: string;
  /** The names of the only nodes that may fit, when the pod alone tells them: no other node is looked at. */
  readonly nodeNames?: (pod: PodInfo) => ReadonlySet<string> | undefined;
  /** Kubernetes' reason against all nodes when `nodeNames` gives none. */
  readonly noNodeReason?: string;
  /** Kubernetes' reason against all nodes, which the pod and its volumes tell without a look at any. */
  readonly conflict?: (pod: PodInfo) => string | undefined;
  /** Kubernetes' reasons against the node; empty when the pod fits. */
  readonly filter: (pod: PodInfo, node: NodeInfo) => readonly string[];
  /** Whether preemption could resolve the reasons; never when absent. A filter that looks at the node's pods or requests has it. */
  readonly curedByRoom?: (pod: PodInfo, node: NodeInfo) => boolean;
  /** Whether a change may make the pod fit. A hint: it may be true in vain, but not false wrongly. */
  readonly helps: (change: ClusterChange, pod: PodInfo, namespaces: NamespaceLabels) => boolean;
}

/** Ranks the nodes that fit. Pure. */
export interface ScorePlugin {
  readonly name: string;
  readonly weight: number;
  /** Scores from 0 to 100, in the order of `nodes`. */
  readonly score: (pod: PodInfo, nodes: readonly NodeInfo[]) => readonly number[];
}

/** The hint of filters that read only the node: whether the changed node passes `filter`. */
export function nodePasses(filter: FilterPlugin['filter']): FilterPlugin['helps'] {
  return (change, pod) =>
    (change.kind === 'node-added' || change.kind === 'node-changed') && filter(pod, change.node).length === 0;
}

/** Why a filter excluded a node. */
export interface Refusal {
  readonly node: NodeInfo;
  readonly plugin: string;
  readonly reasons: readonly string[];
  /** Whether the pod may fit when other pods are gone. */
  readonly curable: 'by-room' | 'never';
}

/**
 * Why a node does not fit a pod; undefined when it does. It must fit beside the pods that are nominated to the node, and without them
 * as well: they may never come.
 */
export function refusalOf(
  pod: PodInfo,
  node: NodeInfo,
  nominated: readonly PodInfo[],
  filters: readonly FilterPlugin[],
): Refusal | undefined {
  const beside = nominated.length === 0 ? undefined : refusalAsIs(pod, nominated.reduce(withPod, node), filters);
  return beside === undefined ? refusalAsIs(pod, node, filters) : { ...beside, node };
}

function refusalAsIs(pod: PodInfo, node: NodeInfo, filters: readonly FilterPlugin[]): Refusal | undefined {
  for (const { name, filter, curedByRoom } of filters) {
    const reasons = filter(pod, node);
    if (reasons.length === 0) continue;
    return { node, plugin: name, reasons, curable: curedByRoom?.(pod, node) === true ? 'by-room' : 'never' };
  }
  return undefined;
}
