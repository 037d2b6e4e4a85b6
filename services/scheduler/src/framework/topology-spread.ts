import {
  findUntoleratedTaint,
  HOSTNAME_LABEL,
  labelSelectorFrom,
  matchesNodeAffinity,
  type Node,
  type Pod,
  type Selector,
  type Service,
  type TopologySpreadConstraint,
  ZONE_LABEL,
} from '@gantry/objects';
import type { Labels } from './pod-affinity.ts';

/** The selectors of the Services that have one, by namespace. */
export type ServiceSelectors = ReadonlyMap<string, readonly Labels[]>;

/** A pod with the uid of its controller, or ''. */
interface OwnedPod {
  readonly ownerUid: string;
  readonly pod: Pod;
}

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
  /** The uid of a controller whose pods count instead of those that the selector selects. Only default constraints have it. */
  readonly owner?: string;
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
  /** Whether these are Kubernetes' constraints for pods without any. Nodes without the labels are ranked too. */
  readonly isDefault?: true;
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
 * Kubernetes' default constraints (`systemDefaultConstraints` in pkg/scheduler/framework/plugins/podtopologyspread/plugin.go), for pods
 * without constraints of their own: the pods of a controller, or else those that are selected by the same Services, are spread over nodes
 * and zones. Kubernetes counts by the controller's selector, which selects the same pods, and leaves out controllers other than ReplicaSets,
 * StatefulSets and ReplicationControllers. Returns undefined for a pod that has neither a controller nor Services.
 */
export function defaultSpreadOf(
  { ownerUid, pod: { metadata, spec } }: OwnedPod,
  services: ServiceSelectors,
): PodSpread | undefined {
  const merged = ownerUid === '' ? selectorOfServices(metadata, services) : undefined;
  if (ownerUid === '' && merged === undefined) return undefined;
  const selected = {
    selector: labelSelectorFrom({ matchLabels: merged ?? {} }),
    ...(ownerUid === '' ? {} : { owner: ownerUid }),
  };
  const anyway = { minDomains: 1, isAffinityHonored: true, areTaintsHonored: false, ...selected };
  const preferred = [
    { topologyKey: HOSTNAME_LABEL, maxSkew: 3, ...anyway },
    { topologyKey: ZONE_LABEL, maxSkew: 5, ...anyway },
  ];
  const counted = ownerUid === '' ? [metadata.namespace, merged] : ownerUid;
  const id = JSON.stringify([counted, spec?.nodeSelector, spec?.affinity?.nodeAffinity]);
  return { id, required: [], preferred, isDefault: true };
}

/** The selectors of the Services that select pods. */
export function selectorsOfServices(services: Iterable<Service>): ServiceSelectors {
  const byNamespace = new Map<string, Labels[]>();
  for (const {
    metadata: { namespace = '' },
    spec,
  } of services) {
    const { selector = {} } = spec ?? {};
    if (Object.keys(selector).length === 0) continue;
    const others = byNamespace.get(namespace);
    if (others === undefined) byNamespace.set(namespace, [selector]);
    else others.push(selector);
  }
  return byNamespace;
}

/** The merged selectors of the Services that select a pod. Undefined when there are none. */
function selectorOfServices(
  { namespace = '', labels = {} }: Pod['metadata'],
  services: ServiceSelectors,
): Labels | undefined {
  const selecting =
    services.get(namespace)?.filter((one) => Object.entries(one).every(([key, value]) => labels[key] === value)) ?? [];
  return selecting.length === 0 ? undefined : Object.assign({}, ...selecting);
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
export function countsFor(
  { selector, owner }: SpreadConstraint,
  namespace: string,
  { ownerUid, pod: { metadata } }: OwnedPod,
): boolean {
  if (owner !== undefined) return ownerUid === owner && metadata.deletionTimestamp === undefined;
  if (metadata.namespace !== namespace || metadata.deletionTimestamp !== undefined) return false;
  return !selector.empty && selector.matches(metadata.labels);
}
