import { findUntoleratedTaint } from '@gantry/objects';
import { type FilterPlugin, nodePasses } from '../../framework/plugin.ts';

/** The text does not name the taint, as in Kubernetes since 1.35. So nodes with different taints are counted together. */
const REASON = ['node(s) had untolerated taint(s)'];

const filter: FilterPlugin['filter'] = ({ pod }, { node }) => {
  const taint = findUntoleratedTaint(node.spec?.taints, pod.spec?.tolerations, ['NoSchedule', 'NoExecute']);
  return taint === undefined ? [] : REASON;
};

/** Allows nodes whose NoSchedule and NoExecute taints the pod tolerates. */
export const taintToleration: FilterPlugin = {
  name: 'TaintToleration',
  sign: ({ pod }) => JSON.stringify(pod.spec?.tolerations ?? []),
  filter,
  helps: nodePasses(filter),
};
