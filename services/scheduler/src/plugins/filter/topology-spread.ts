import { equalJson, type Pod } from '@gantry/objects';
import { domainOf } from '../../framework/affinity-counts.ts';
import type { FilterPlugin } from '../../framework/plugin.ts';
import type { PodInfo } from '../../framework/pod-info.ts';
import type { NodeInfo } from '../../framework/node-info.ts';
import { isInAllDomains } from '../../framework/spread-counts.ts';
import { MAX_CONSTRAINTS } from '../../framework/topology-spread.ts';

const UNEVEN = ["node(s) didn't match pod topology spread constraints"];
const UNLABELLED = UNEVEN.map((reason) => `${reason} (missing required label)`);

/** Why a pod with too many constraints fits on no node. Returns undefined for other pods. */
function conflict({ spread }: PodInfo): string | undefined {
  if (spread?.excess === undefined) return undefined;
  return `pod has ${spread.excess} topology spread constraints, more than ${MAX_CONSTRAINTS}`;
}

function filter(pod: PodInfo, node: NodeInfo): readonly string[] {
  const { spreading } = pod;
  const excess = conflict(pod);
  if (excess !== undefined) return [excess];
  if (spreading === undefined || spreading.required.length === 0) return [];
  const more = spreading.moreOn(node);
  for (const { count, own } of spreading.required) {
    const { constraint, byValue } = count;
    const value = domainOf(constraint, node);
    if (value === undefined) return UNLABELLED;
    const counted = byValue.get(value);
    const present = (counted ?? 0) + (more.get(count) ?? 0);
    // A node that the constraint excludes does not form a domain.
    const least = Math.min(count.leastBeside(value), counted === undefined ? Number.POSITIVE_INFINITY : present);
    const fewest = byValue.size < constraint.minDomains ? 0 : least;
    if (present + own - fewest > constraint.maxSkew) return UNEVEN;
  }
  return [];
}

/**
 * For each constraint with DoNotSchedule, allows the nodes whose domain would have at most `maxSkew` pods more than the domain with the
 * fewest, once the pod is there.
 */
export const topologySpread: FilterPlugin = {
  name: 'PodTopologySpread',
  // Pods on other nodes matter where constraints exclude nodes.
  sign: ({ spread, spreading }) =>
    spread?.excess === undefined && (spreading?.required ?? []).length === 0 ? '' : undefined,
  conflict,
  filter,
  curedByRoom: (pod, node) => filter(pod, node) === UNEVEN,
  helps: (change, { pod, spread }) => {
    const required = spread?.required ?? [];
    // It does not matter that the other pod terminates: every pod that is gone was terminating before.
    const isSelected = ({ metadata }: Pod) =>
      metadata.namespace === pod.metadata.namespace &&
      required.some(({ selector }) => selector.matches(metadata.labels));
    switch (change.kind) {
      // A further pod in another domain may raise the smallest number of pods in a domain.
      case 'pod-placed':
      case 'pod-gone':
        return isSelected(change.pod.pod);
      case 'pod-relabelled': {
        const [now, old] = [change.pod.pod.metadata, change.old.pod.metadata];
        if (now.namespace !== pod.metadata.namespace) return false;
        return required.some(({ selector }) => selector.matches(now.labels) !== selector.matches(old.labels));
      }
      // When a node is removed, a domain without pods may disappear with it.
      case 'node-added':
      case 'node-removed':
        return isInAllDomains(required, change.node);
      case 'node-changed': {
        const [{ node: now }, { node: old }] = [change.node, change.old];
        const isSame = equalJson(now.metadata.labels ?? {}, old.metadata.labels ?? {});
        return !isSame || !equalJson(now.spec?.taints ?? [], old.spec?.taints ?? []);
      }
      case 'pod-shrunk':
      case 'namespace-changed':
      case 'claim-changed':
      case 'volume-changed':
      case 'class-changed':
        return false;
    }
  },
};
