import { type FilterPlugin, nodePasses } from '../plugin.ts';
import { tolerates } from './taint-toleration.ts';

const REASON = ['node(s) were unschedulable'];
const CORDON = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

const filter: FilterPlugin['filter'] = ({ pod }, { node }) =>
  node.spec?.unschedulable === true && !tolerates(pod.spec?.tolerations, CORDON) ? REASON : [];

/** Cordoned nodes take only pods that tolerate it. */
export const nodeUnschedulable: FilterPlugin = { name: 'NodeUnschedulable', filter, helps: nodePasses(filter) };
