import { equalJson, type Pod } from '@gantry/objects';
import { domainOf } from '../../framework/affinity-counts.ts';
import type { FilterPlugin } from '../../framework/plugin.ts';
import { isInAllDomains } from '../../framework/spread-counts.ts';
import { MAX_CONSTRAINTS } from '../../framework/topology-spread.ts';

const UNEVEN = ["node(s) didn't match pod topology spread constraints"];
const UNLABELLED = UNEVEN.map((reason) => `${reason} (missing required label)`);

/**
 * Allows nodes in whose domains the pod would be at most `maxSkew` pods ahead of the domain with the fewest, for each constraint that says
 * DoNotSchedule.
 */
export const topologySpread: FilterPlugin = {
  name: 'PodTopologySpread',
  conflict: ({ spread }) =>
    spread?.excess === undefined
      ? undefined
      : `pod has ${spread.excess} topology spread constraints, more than ${MAX_CONSTRAINTS}`,
  filter: ({ pod, spreading }, node) => {
    for (const count of spreading?.required ?? []) {
      const { constraint, byValue } = count;
      const value = domainOf(constraint, node);
      if (value === undefined) return UNLABELLED;
      const { maxSkew, minDomains, selector } = constraint;
      const counted = byValue.get(value);
      const present = (counted ?? 0) + (spreading?.moreOn(node, constraint) ?? 0);
      // A node that is excluded from the constraint makes no domain.
      const least = Math.min(count.leastBeside(value), counted === undefined ? Number.POSITIVE_INFINITY : present);
      const fewest = byValue.size < minDomains ? 0 : least;
      const own = selector.matches(pod.metadata.labels) ? 1 : 0;
      if (present + own - fewest > maxSkew) return UNEVEN;
    }
    return [];
  },
  curedByRoom: ({ spread }, node) => isInAllDomains(spread?.required ?? [], node),
  helps: (change, { pod, spread }) => {
    const required = spread?.required ?? [];
    // A pod that has gone has terminated before, and did not count any more.
    const isSelected = ({ metadata: { namespace, labels } }: Pod) =>
      required.map(({ selector }) => namespace === pod.metadata.namespace && selector.matches(labels));
    switch (change.kind) {
      // More pods in another domain: the fewest are more.
      case 'pod-placed':
        return isSelected(change.pod.pod).includes(true);
      case 'pod-gone':
        return isSelected(change.pod.pod).includes(true);
      case 'pod-relabelled':
        return !equalJson(isSelected(change.pod.pod), isSelected(change.old.pod));
      // A domain without pods may have gone with one that is removed.
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
