import { matchesNodeAffinity, requiredNodeNames } from '@gantry/objects';
import { type FilterPlugin, nodePasses } from '../../framework/plugin.ts';

const REASON = ["node(s) didn't match Pod's node affinity/selector"];

const filter: FilterPlugin['filter'] = ({ pod }, { node }) => (matchesNodeAffinity(pod.spec, node) ? [] : REASON);

/** Allows nodes that match the pod's node selector and required node affinity. */
export const nodeAffinity: FilterPlugin = {
  name: 'NodeAffinity',
  nodeNames: ({ pod }) => requiredNodeNames(pod.spec),
  noNodeReason: 'pod affinity terms conflict',
  sign: ({ pod: { spec } }) => JSON.stringify([spec?.nodeSelector, spec?.affinity?.nodeAffinity]),
  filter,
  helps: nodePasses(filter),
};
