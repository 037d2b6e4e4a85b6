import type { Node, NodeSelectorRequirement, NodeSelectorTerm, PersistentVolume, PodSpec } from './generated/types.ts';

/** The only field that `matchFields` supports. */
const NAME_FIELD = 'metadata.name';

/** Whether a node matches a pod's node selector and required node affinity, as Kubernetes' GetRequiredNodeAffinity decides. */
export function matchesNodeAffinity(spec: PodSpec | undefined, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(spec?.nodeSelector ?? {})) if (labels[key] !== value) return false;
  const required = requiredTerms(spec);
  return required === undefined || required.some((term) => matchesTerm(term, node));
}

/** How much a pod prefers a node: the sum of the weights of its preferred terms that match, as Kubernetes' PreferredSchedulingTerms. */
export function nodePreference(spec: PodSpec | undefined, node: Node): number {
  let sum = 0;
  for (const { weight, preference } of spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ??
    [])
    if (matchesTerm(preference, node)) sum += weight;
  return sum;
}

/** Whether a volume is accessible from a node, as Kubernetes' CheckNodeAffinity decides. */
export function reachesVolume(node: Node, { spec }: PersistentVolume): boolean {
  const required = spec?.nodeAffinity?.required;
  return required === undefined || required.nodeSelectorTerms.some((term) => matchesTerm(term, node));
}

/**
 * The names of the only nodes that required node affinity may allow, if every term selects by name; undefined if other nodes may match.
 * Empty if the terms contradict each other. Kubernetes' scheduler checks only these nodes.
 */
export function requiredNodeNames(spec: PodSpec | undefined): ReadonlySet<string> | undefined {
  const terms = requiredTerms(spec);
  if (terms === undefined || terms.length === 0) return undefined;
  const names = new Set<string>();
  for (const term of terms) {
    const termNames = namesOf(term);
    if (termNames === undefined) return undefined;
    for (const name of termNames) names.add(name);
  }
  return names;
}

function requiredTerms(spec: PodSpec | undefined): readonly NodeSelectorTerm[] | undefined {
  return spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
}

/** Names that satisfy all name requirements of the term. */
function namesOf(term: NodeSelectorTerm): readonly string[] | undefined {
  let names: readonly string[] | undefined;
  for (const { key, operator, values = [] } of term.matchFields ?? []) {
    if (key !== NAME_FIELD || operator !== 'In') continue;
    names = names === undefined ? values : names.filter((name) => values.includes(name));
  }
  return names;
}

/** Whether a node matches all requirements of a term; an empty term matches no node. */
function matchesTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: Node): boolean {
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  const { name, labels = {} } = node.metadata;
  return (
    matchExpressions.every((requirement) => meets(requirement, labels[requirement.key])) &&
    matchFields.every((requirement) => meetsField(requirement, requirement.key === NAME_FIELD ? (name ?? '') : ''))
  );
}

/** Checks a field requirement. Only In and NotIn with one value are supported; others match nothing. */
function meetsField({ operator, values = [] }: NodeSelectorRequirement, value: string): boolean {
  if (values.length !== 1) return false;
  if (operator === 'In') return value === values[0];
  return operator === 'NotIn' && value !== values[0];
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
