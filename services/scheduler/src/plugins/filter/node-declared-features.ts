import { hasRestartOfAll, type Pod } from '@gantry/objects';
import { type FilterPlugin, nodePasses } from '../../framework/plugin.ts';

const REASON = ["node(s) didn't match Pod's required features"];
const RESTART_OF_ALL = 'RestartAllContainersOnContainerExits';

/** The features that a node needs so that the pod can run as its spec says. */
function neededFeatures({ spec }: Pod): readonly string[] {
  return hasRestartOfAll(spec) ? [RESTART_OF_ALL] : [];
}

const filter: FilterPlugin['filter'] = ({ pod }, { node }) =>
  neededFeatures(pod).every((feature) => node.status?.declaredFeatures?.includes(feature) === true) ? [] : REASON;

/** Excludes nodes that have not declared a feature that the pod needs. */
export const nodeDeclaredFeatures: FilterPlugin = {
  name: 'NodeDeclaredFeatures',
  sign: ({ pod }) => neededFeatures(pod).join(),
  filter,
  helps: nodePasses(filter),
};
