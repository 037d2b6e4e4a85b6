import type { PersistentVolumeClaim } from '@gantry/objects';
import type { Labels, NamespaceLabels } from './pod-affinity.ts';
import type { PodInfo } from './pod-info.ts';
import { type NodeInfo, withPod } from './node-info.ts';

/** A change of the cluster that may make it possible to schedule a pod that was refused. */
export type ClusterChange =
  | { readonly kind: 'node-added'; readonly node: NodeInfo }
  | { readonly kind: 'node-changed'; readonly node: NodeInfo; readonly old: NodeInfo }
  | { readonly kind: 'node-removed'; readonly node: NodeInfo }
  /** A pod has arrived on a node. */
  | { readonly kind: 'pod-placed'; readonly pod: PodInfo }
  /** The labels of a pod on a node have changed. */
  | { readonly kind: 'pod-relabelled'; readonly pod: PodInfo; readonly old: PodInfo }
  /** A pod was deleted or has finished. */
  | { readonly kind: 'pod-gone'; readonly pod: PodInfo }
  /** A pod on a node holds less of a resource than before. */
  | { readonly kind: 'pod-shrunk' }
  /** A namespace was added or removed, or its labels have changed. */
  | { readonly kind: 'namespace-changed'; readonly name: string; readonly labels: Labels; readonly old: Labels }
  | { readonly kind: 'claim-changed'; readonly claim: PersistentVolumeClaim }
  | { readonly kind: 'volume-changed' | 'class-changed' };

/**
 * Excludes nodes for a pod. A plugin is pure: it keeps nothing between calls and changes nothing.
 *
 * @example
 * const filter: FilterPlugin['filter'] = ({ pod }, { node }) => {
 *   const namespace = node.metadata.labels?.['example.dev/reserved-for'];
 *   return namespace === undefined || namespace === pod.metadata.namespace
 *     ? []
 *     : ['node(s) were reserved for another namespace'];
 * };
 * const reservedNodes: FilterPlugin = { name: 'ReservedNodes', filter, helps: nodePasses(filter) };
 */
export interface FilterPlugin {
  readonly name: string;
  /** The names of the only nodes that may fit, where the pod itself names them. The plugins are then not asked about any other node. */
  readonly nodeNames?: (pod: PodInfo) => ReadonlySet<string> | undefined;
  /** Kubernetes' reason against all nodes, when `nodeNames` returns an empty set. */
  readonly noNodeReason?: string;
  /** Kubernetes' reason against all nodes, when the pod and its volumes suffice to know that no node fits. */
  readonly conflict?: (pod: PodInfo) => string | undefined;
  /**
   * Equal for pods that the filter does not distinguish, if it looks at nothing but the pod and the node. Each node is then asked about once
   * for all of these pods, until the node changes. Without a sign, or with `undefined`, it is asked about for each pod.
   */
  readonly sign?: (pod: PodInfo) => string | undefined;
  /** Kubernetes' reasons against the node. The list is empty when the pod fits. */
  readonly filter: (pod: PodInfo, node: NodeInfo) => readonly string[];
  /**
   * Whether the reasons could go away if other pods left the node. When it is absent, they never do. A filter that looks at the node's pods
   * or at what they request has this function.
   */
  readonly curedByRoom?: (pod: PodInfo, node: NodeInfo) => boolean;
  /**
   * Whether a change may make the pod fit. This is a hint: it may be true although the pod still does not fit, but it must not be false
   * when the pod does fit now.
   */
  readonly helps: (change: ClusterChange, pod: PodInfo, namespaces: NamespaceLabels) => boolean;
}

/**
 * Ranks the nodes that fit. A plugin is pure, as a filter is.
 *
 * @example
 * const mostPods: ScorePlugin = {
 *   name: 'MostPods',
 *   weight: 1,
 *   score: (_pod, nodes) => nodes.map(({ pods }) => Math.min(pods.size, 100)),
 * };
 */
export interface ScorePlugin {
  readonly name: string;
  readonly weight: number;
  /** Returns a score from 0 to 100 for each node, in the order of `nodes`, or one for all of them. */
  readonly score: (pod: PodInfo, nodes: readonly NodeInfo[]) => Points;
}

/** Scores of nodes in their order, or one that all of them have. */
export type Points = readonly number[] | number;

/** The score of each of so many nodes. */
export function pointsOf(points: Points, count: number): readonly number[] {
  return typeof points === 'number' ? Array.from({ length: count }, () => points) : points;
}

/** The `helps` of a filter that looks only at the node: true when the new or changed node passes `filter`. */
export function nodePasses(filter: FilterPlugin['filter']): FilterPlugin['helps'] {
  return (change, pod) =>
    (change.kind === 'node-added' || change.kind === 'node-changed') && filter(pod, change.node).length === 0;
}

/** Why a filter excluded a node. */
export interface Refusal {
  readonly node: NodeInfo;
  /** The node as the filter saw it, with the pods that are nominated to it. */
  readonly seen: NodeInfo;
  readonly filter: FilterPlugin;
  readonly reasons: readonly string[];
}

/** Whether the pod may fit on the node once other pods have left it. */
export function isCurable(pod: PodInfo, { filter, seen }: Refusal): boolean {
  return filter.curedByRoom?.(pod, seen) === true;
}

/**
 * Why a pod does not fit on a node. Returns undefined when it does. It has to fit together with the pods that are nominated to the node,
 * and also without them, because they may never arrive.
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

/** The refusal by the first of the filters that excludes the node, whose nominated pods are left out. An equal `last` one is returned again. */
export function refusalAsIs(
  pod: PodInfo,
  node: NodeInfo,
  filters: readonly FilterPlugin[],
  last?: Refusal,
): Refusal | undefined {
  for (const filter of filters) {
    const reasons = filter.filter(pod, node);
    if (reasons.length === 0) continue;
    const isSame = last !== undefined && last.seen === node && last.filter === filter && last.reasons === reasons;
    return isSame ? last : { node, seen: node, filter, reasons };
  }
  return undefined;
}
