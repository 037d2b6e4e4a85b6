import { type FilterPlugin, nodePasses } from '../framework/plugin.ts';

const LABEL = 'example.dev/reserved-for';
const REASON = ['node(s) were reserved for another namespace'];

const filter: FilterPlugin['filter'] = ({ pod }, { node }) => {
  const namespace = node.metadata.labels?.[LABEL];
  return namespace === undefined || namespace === pod.metadata.namespace ? [] : REASON;
};

/** A filter for nodes with a label that names a namespace: such a node accepts only pods of that namespace. */
export const reservedNodes: FilterPlugin = { name: 'ReservedNodes', filter, helps: nodePasses(filter) };
