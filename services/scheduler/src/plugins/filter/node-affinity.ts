import type { NodeSelectorRequirement, NodeSelectorTerm } from '@gantry/objects';
import type { NodeInfo } from '../../framework/snapshot.ts';
import { type FilterPlugin, nodePasses } from '../../framework/plugin.ts';

const REASON = ["node(s) didn't match Pod's node affinity/selector"];

const filter: FilterPlugin['filter'] = ({ pod }, node) => {
  const labels = node.node.metadata.labels ?? {};
  const selected = Object.entries(pod.spec?.nodeSelector ?? {}).every(([key, value]) => labels[key] === value);
  if (!selected) return REASON;
  const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required === undefined) return [];
  return required.nodeSelectorTerms.some((term) => matchesTerm(term, node)) ? [] : REASON;
};

/** Allows nodes that match the pod's node selector and required node affinity. */
export const nodeAffinity: FilterPlugin = { name: 'NodeAffinity', filter, helps: nodePasses(filter) };

/** Whether a node matches all requirements of a term; an empty term matches no node. */
function matchesTerm(term: NodeSelectorTerm, { name, node }: NodeInfo): boolean {
  const expressions = term.matchExpressions ?? [];
  const fields = term.matchFields ?? [];
  if (expressions.length === 0 && fields.length === 0) return false;
  const labels = node.metadata.labels ?? {};
  return (
    expressions.every((requirement) => meets(requirement, labels[requirement.key])) &&
    fields.every((requirement) => requirement.key === 'metadata.name' && meets(requirement, name))
  );
}

function meets({ operator, values = [] }: NodeSelectorRequirement, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
    case 'Lt': {
      const whole = /^-?\d+$/;
      const bound = values[0] ?? '';
      if (value === undefined || !whole.test(value) || !whole.test(bound)) return false;
      return operator === 'Gt' ? BigInt(value) > BigInt(bound) : BigInt(value) < BigInt(bound);
    }
    default:
      return false;
  }
}
