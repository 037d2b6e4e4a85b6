import { equalJson, type Pod } from '@gantry/objects';
import { domainOf } from '../../framework/affinity-counts.ts';
import {
  type AffinityTerm,
  allSelect,
  MAX_TERMS,
  type NamespaceLabels,
  selects,
} from '../../framework/pod-affinity.ts';
import type { ClusterChange, FilterPlugin } from '../../framework/plugin.ts';
import {
  differenceOn,
  type MatchCount,
  type Neighbours,
  type PodDifference,
  type PodInfo,
} from '../../framework/pod-info.ts';
import type { NodeInfo } from '../../framework/node-info.ts';

const AFFINITY = ["node(s) didn't match pod affinity rules"];
const ANTI_AFFINITY = ["node(s) didn't match pod anti-affinity rules"];
const ANTI_AFFINITY_OF_OTHERS = ["node(s) didn't satisfy existing pods anti-affinity rules"];

/** Why a pod with too many terms fits on no node. Returns undefined for other pods. */
function conflict({ affinity }: PodInfo): string | undefined {
  if (affinity?.excess === undefined) return undefined;
  return `pod has ${affinity.excess} terms of affinity and anti-affinity to pods, more than ${MAX_TERMS}`;
}

/**
 * Allows nodes that satisfy the pod's required affinity and anti-affinity, and also the required anti-affinity of the pods that are on
 * nodes.
 */
export const interPodAffinity: FilterPlugin = {
  name: 'InterPodAffinity',
  sign: ({ affinity, neighbours }) => (affinity?.excess === undefined && neighbours === undefined ? '' : undefined),
  conflict,
  filter: (pod, node) => {
    const { neighbours } = pod;
    const excess = conflict(pod);
    if (excess !== undefined) return [excess];
    if (neighbours === undefined) return [];
    const difference = differenceFor(pod, node);
    if (!meetsAffinity(pod, neighbours, node, difference)) return AFFINITY;
    if (neighbours.forbidden.some((count) => isAnyNear(count, neighbours, node, difference))) return ANTI_AFFINITY;
    return isForbiddenByOthers(pod, neighbours, node, difference) ? ANTI_AFFINITY_OF_OTHERS : [];
  },
  // When the pod misses pods that it needs nearby, evicting others does not help.
  curedByRoom: (pod, node) => {
    const { affinity, neighbours } = pod;
    if (affinity?.excess !== undefined) return false;
    return neighbours === undefined || meetsAffinity(pod, neighbours, node, differenceFor(pod, node));
  },
  helps: (change, info, namespaces) => {
    const { pod, affinity } = info;
    const { required = [], forbidden = [] } = affinity ?? {};
    const isWanted = (other: Pod) => allSelect(required, other, namespaces);
    const isUnwanted = (other: Pod) => forbidden.some((term) => selects(term, other, namespaces));
    /** When no pod anywhere matches its required terms, the pod may be the first, provided that it matches them itself. */
    const mayBeFirst = () => isWanted(pod);
    switch (change.kind) {
      case 'pod-placed':
        return isWanted(change.pod.pod);
      case 'pod-gone': {
        const { pod: gone, affinity: its } = change.pod;
        if (isUnwanted(gone) || (isWanted(gone) && mayBeFirst())) return true;
        return its?.forbidden.some((term) => selects(term, pod, namespaces)) === true;
      }
      case 'pod-relabelled': {
        const [now, before] = [change.pod.pod, change.old.pod];
        if (isWanted(now) !== isWanted(before) && (isWanted(now) || mayBeFirst())) return true;
        return forbidden.some((term) => selects(term, before, namespaces) && !selects(term, now, namespaces));
      }
      case 'namespace-changed':
        return (
          change.name === pod.metadata.namespace || [...required, ...forbidden].some((term) => isTouched(term, change))
        );
      case 'node-added':
        return required.length === 0 || required.some((term) => domainOf(term, change.node) !== undefined);
      // The pods of a removed node do not count any more.
      case 'node-removed':
        return change.node.pods.size > 0;
      case 'node-changed':
        return !equalJson(change.node.node.metadata.labels ?? {}, change.old.node.metadata.labels ?? {});
      case 'pod-shrunk':
      case 'claim-changed':
      case 'volume-changed':
      case 'class-changed':
        return false;
    }
  },
};

/** A pod without terms is concerned only by the terms of other pods. */
function differenceFor({ affinity }: PodInfo, node: NodeInfo): PodDifference | undefined {
  return differenceOn(node, affinity === undefined ? 'withTerms' : 'pods');
}

/**
 * Whether each of the node's domains contains pods that match the pod's required terms. It also suffices that no pod matches anywhere and
 * the pod matches its own terms.
 */
function meetsAffinity(
  { pod }: PodInfo,
  { required, namespaces }: Neighbours,
  node: NodeInfo,
  difference: PodDifference | undefined,
): boolean {
  if (required === undefined) return true;
  const more = moreOf(required, namespaces, difference);
  let isNear = true;
  let isAnywhere = false;
  for (const [i, term] of required.terms.entries()) {
    const domain = domainOf(term, node);
    if (domain === undefined) return false;
    const byValue = required.byTerm[i] ?? new Map<string, number>();
    const near = (byValue.get(domain) ?? 0) + more;
    isNear &&= near > 0;
    isAnywhere ||= near > 0 || hasOther(byValue, domain);
  }
  return isNear || (!isAnywhere && allSelect(required.terms, pod, namespaces));
}

/** Whether another domain than `domain` contains pods. */
function hasOther(byValue: ReadonlyMap<string, number>, domain: string): boolean {
  return byValue.size > (byValue.has(domain) ? 1 : 0);
}

function isAnyNear(
  count: MatchCount,
  { namespaces }: Neighbours,
  node: NodeInfo,
  difference: PodDifference | undefined,
): boolean {
  const [term] = count.terms;
  const domain = term === undefined ? undefined : domainOf(term, node);
  if (domain === undefined) return false;
  return (count.byTerm[0]?.get(domain) ?? 0) + moreOf(count, namespaces, difference) > 0;
}

/** How many more pods match on the hypothetical node than were counted on it. */
function moreOf({ terms }: MatchCount, namespaces: NamespaceLabels, difference: PodDifference | undefined): number {
  if (difference === undefined) return 0;
  const matching = (pods: readonly PodInfo[]) => pods.filter(({ pod }) => allSelect(terms, pod, namespaces)).length;
  return matching(difference.added) - matching(difference.removed);
}

function isForbiddenByOthers(
  { pod }: PodInfo,
  { forbiddenByOthers, namespaces }: Neighbours,
  node: NodeInfo,
  difference: PodDifference | undefined,
): boolean {
  for (const { term, byValue } of forbiddenByOthers) {
    const domain = domainOf(term, node);
    const count = domain === undefined ? 0 : (byValue.get(domain) ?? 0);
    const left = difference?.removed.reduce((times, other) => times + timesOf(term, other), 0) ?? 0;
    if (count > left) return true;
  }
  const forbids = (term: AffinityTerm) => domainOf(term, node) !== undefined && selects(term, pod, namespaces);
  return difference?.added.some(({ affinity }) => affinity?.forbidden.some(forbids) === true) === true;
}

/** How often a pod's required anti-affinity contains the term. */
function timesOf({ id }: AffinityTerm, { affinity }: PodInfo): number {
  return affinity?.forbidden.filter((term) => term.id === id).length ?? 0;
}

/** Whether a change of a namespace changes which pods a term can select. */
function isTouched(
  { namespaces, namespaceSelector }: AffinityTerm,
  { name, labels, old }: ClusterChange & { kind: 'namespace-changed' },
): boolean {
  return !namespaces.has(name) && namespaceSelector.matches(labels) !== namespaceSelector.matches(old);
}
