import {
  findUntoleratedTaint,
  labelSelectorFrom,
  matchesNodeAffinity,
  type Node,
  type Pod,
  type Selector,
  type TopologySpreadConstraint,
} from '@gantry/objects';

/** A constraint on how evenly pods are spread over the domains of a node label. */
export interface SpreadConstraint {
  /** The key of the label whose value the nodes of one domain share. */
  readonly topologyKey: string;
  /** How many more pods a domain may have than the domain with the fewest. */
  readonly maxSkew: number;
  /** When there are fewer domains than this, the smallest number of pods is taken as zero. */
  readonly minDomains: number;
  /** Selects among the pods in the pod's own namespace. */
  readonly selector: Selector;
  /**
   * Whether a node does not count as part of a domain when the pod's node affinity (here) or its tolerations (`areTaintsHonored`) exclude
   * it.
   */
  readonly isAffinityHonored: boolean;
  readonly areTaintsHonored: boolean;
}

/** How a pod wants to be spread among others. */
export interface PodSpread {
  /** Equal for pods that count the same pods on the same nodes. */
  readonly id: string;
  readonly required: readonly SpreadConstraint[];
  readonly preferred: readonly SpreadConstraint[];
  /** The number of constraints, present only when the pod has too many. Then none of them is used, and no node fits. */
  readonly excess?: number;
}

/**
 * The limit on a pod's constraints. Each constraint of a waiting pod is compared with all pods, so the number has to be bounded. Kubernetes
 * has no limit.
 */
export const MAX_CONSTRAINTS = 100;

/** Returns the constraints of a pod, or undefined when it has none. */
export function podSpreadOf({ metadata, spec }: Pod): PodSpread | undefined {
  const { topologySpreadConstraints: all = [], nodeSelector, affinity, tolerations } = spec ?? {};
  if (all.length === 0) return undefined;
  if (all.length > MAX_CONSTRAINTS) return { id: '', required: [], preferred: [], excess: all.length };
  const id = JSON.stringify([metadata.namespace, all, nodeSelector, affinity?.nodeAffinity, tolerations]);
  const of = (wanted: string) => all.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === wanted).map(parse);
  return { id, required: of('DoNotSchedule'), preferred: of('ScheduleAnyway') };
}

/** `matchLabelKeys` is ignored: the API server has already written the values into the selector. */
function parse(constraint: TopologySpreadConstraint): SpreadConstraint {
  const { topologyKey, maxSkew, minDomains = 1, labelSelector, nodeAffinityPolicy, nodeTaintsPolicy } = constraint;
  return {
    topologyKey,
    maxSkew,
    minDomains,
    selector: labelSelectorFrom(labelSelector),
    isAffinityHonored: nodeAffinityPolicy !== 'Ignore',
    areTaintsHonored: nodeTaintsPolicy === 'Honor',
  };
}

/**
 * Returns a function that says which constraints of a pod spread over a node. The pod's affinity and tolerations are compared with the node
 * at most once.
 */
export function eligibility({ spec }: Pod, node: Node): (constraint: SpreadConstraint) => boolean {
  let isMatched: boolean | undefined;
  let isTolerated: boolean | undefined;
  const matches = () => (isMatched ??= matchesNodeAffinity(spec, node));
  const tolerates = () =>
    (isTolerated ??=
      findUntoleratedTaint(node.spec?.taints, spec?.tolerations, ['NoSchedule', 'NoExecute']) === undefined);
  return ({ isAffinityHonored, areTaintsHonored }) =>
    (!isAffinityHonored || matches()) && (!areTaintsHonored || tolerates());
}

/**
 * Whether another pod counts for a constraint of a pod in `namespace`. Pods that terminate do not count, since they make room for others.
 * An empty selector counts no pod, as in Kubernetes (countPodsMatchSelector), although it usually selects all of them.
 */
export function countsFor({ selector }: SpreadConstraint, namespace: string, { metadata }: Pod): boolean {
  if (metadata.namespace !== namespace || metadata.deletionTimestamp !== undefined) return false;
  return !selector.empty && selector.matches(metadata.labels);
}
