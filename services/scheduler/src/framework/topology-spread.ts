import {
  findUntoleratedTaint,
  labelSelectorFrom,
  matchesNodeAffinity,
  type Node,
  type Pod,
  type Selector,
  type TopologySpreadConstraint,
} from '@gantry/objects';

/** A constraint on how evenly pods are spread over the domains of a label. */
export interface SpreadConstraint {
  /** The label that nodes of one domain share. */
  readonly topologyKey: string;
  /** How many more pods a domain may have than the one with the fewest. */
  readonly maxSkew: number;
  /** While there are fewer domains, the fewest pods of a domain count as none. */
  readonly minDomains: number;
  /** Of pods in the pod's own namespace. */
  readonly selector: Selector;
  /** Whether nodes that the pod's node affinity or its tolerations exclude make no domains. */
  readonly isAffinityHonored: boolean;
  readonly areTaintsHonored: boolean;
}

/** How a pod wants to be spread with others. */
export interface PodSpread {
  /** The same for pods that count the same pods on the same nodes. */
  readonly id: string;
  readonly required: readonly SpreadConstraint[];
  readonly preferred: readonly SpreadConstraint[];
  /** How many constraints the pod has where these are too many: then none of them counts, and no node fits. */
  readonly excess?: number;
}

/** Each one of a waiting pod is compared with all pods. Kubernetes has no limit. */
export const MAX_CONSTRAINTS = 100;

/** The constraints of a pod; undefined for one without any. */
export function podSpreadOf({ metadata, spec }: Pod): PodSpread | undefined {
  const { topologySpreadConstraints: all = [], nodeSelector, affinity, tolerations } = spec ?? {};
  if (all.length === 0) return undefined;
  if (all.length > MAX_CONSTRAINTS) return { id: '', required: [], preferred: [], excess: all.length };
  const id = JSON.stringify([metadata.namespace, all, nodeSelector, affinity?.nodeAffinity, tolerations]);
  const of = (wanted: string) => all.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === wanted).map(parse);
  return { id, required: of('DoNotSchedule'), preferred: of('ScheduleAnyway') };
}

/** Label keys are not looked at: the API server has written their values into the selector. */
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

/** Which constraints of a pod spread over a node. Its affinity and its tolerations are compared with the node once at most. */
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
 * Whether another pod counts for a constraint of a pod in `namespace`. Those that terminate make room for others. An empty selector, which
 * selects all pods, counts none, as in Kubernetes (countPodsMatchSelector).
 */
export function countsFor({ selector }: SpreadConstraint, namespace: string, { metadata }: Pod): boolean {
  if (metadata.namespace !== namespace || metadata.deletionTimestamp !== undefined) return false;
  return !selector.empty && selector.matches(metadata.labels);
}
