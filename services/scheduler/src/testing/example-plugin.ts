import { type FilterPlugin, nodePasses } from '../framework/plugin.ts';

const LABEL = 'example.dev/reserved-for';
const REASON = ['node(s) were reserved for another namespace'];

const filter: FilterPlugin['filter'] = ({ pod }, { node }) => {
  const namespace = node.metadata.labels?.[LABEL];
  return namespace === undefined || namespace === pod.metadata.namespace ? [] : REASON;
};

/** A node with the label accepts only pods of the namespace that it names. */
export const reservedNodes: FilterPlugin = { name: 'ReservedNodes', filter, helps: nodePasses(filter) };
