import { findUntoleratedTaint } from '@gantry/objects';
import { type FilterPlugin, nodePasses } from '../../framework/plugin.ts';

/** Without the taint's name, as Kubernetes has it since 1.35: nodes with different taints count together. */
const REASON = ['node(s) had untolerated taint(s)'];

const filter: FilterPlugin['filter'] = ({ pod }, { node }) => {
  const taint = findUntoleratedTaint(node.spec?.taints, pod.spec?.tolerations, ['NoSchedule', 'NoExecute']);
  return taint === undefined ? [] : REASON;
};

/** Nodes whose NoSchedule and NoExecute taints the pod tolerates. */
export const taintToleration: FilterPlugin = { name: 'TaintToleration', filter, helps: nodePasses(filter) };
