import { isTolerated, UNSCHEDULABLE_TAINT } from '@gantry/objects';
import { type FilterPlugin, nodePasses } from '../../framework/plugin.ts';

const REASON = ['node(s) were unschedulable'];
const CORDON = { key: UNSCHEDULABLE_TAINT, effect: 'NoSchedule' };

const filter: FilterPlugin['filter'] = ({ pod }, { node }) =>
  node.spec?.unschedulable === true && !isTolerated(CORDON, pod.spec?.tolerations) ? REASON : [];

/** Excludes cordoned nodes, unless the pod tolerates the taint of such nodes. */
export const nodeUnschedulable: FilterPlugin = {
  name: 'NodeUnschedulable',
  sign: ({ pod }) => JSON.stringify(pod.spec?.tolerations ?? []),
  filter,
  helps: nodePasses(filter),
};
