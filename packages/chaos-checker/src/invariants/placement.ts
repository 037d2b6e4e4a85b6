import { type ApiObject, meets, type NodeSelectorTerm, type Taint, type Toleration } from '../history/api-objects.ts';
import type { Change } from '../history/world.ts';

/** The pod of a change that gives it a node; undefined for any other change. */
export function bindingOf({ resource, before, after }: Change): ApiObject | undefined {
  if (resource !== 'pods' || after === undefined) return undefined;
  const pod = after.object;
  const old = before?.object;
  return pod?.spec?.nodeName !== undefined && old?.spec?.nodeName === undefined ? pod : undefined;
}

const UNSCHEDULABLE: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

/** Whether the pod tolerates the node's taints that forbid scheduling, a cordon included. */
export function tolerates(pod: ApiObject, node: ApiObject): boolean {
  const taints = (node.spec?.taints ?? []).filter(({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute');
  const all = node.spec?.unschedulable === true ? [...taints, UNSCHEDULABLE] : taints;
  return all.every((taint) => (pod.spec?.tolerations ?? []).some((toleration) => covers(toleration, taint)));
}

function covers({ key, operator = 'Equal', value = '', effect }: Toleration, taint: Taint): boolean {
  if (effect !== undefined && effect !== '' && effect !== taint.effect) return false;
  if (key === undefined || key === '') return operator === 'Exists';
  return key === taint.key && (operator === 'Exists' || value === (taint.value ?? ''));
}

/** Whether the node meets the pod's node selector and required node affinity. */
export function selects(pod: ApiObject, node: ApiObject): boolean {
  const labels = node.metadata?.labels ?? {};
  const { nodeSelector = {}, affinity } = pod.spec ?? {};
  if (!Object.entries(nodeSelector).every(([key, value]) => labels[key] === value)) return false;
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return terms === undefined || terms.some((term) => matchesTerm(term, node));
}

function matchesTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, { metadata }: ApiObject): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  const fields = { 'metadata.name': metadata?.name ?? '' };
  return (
    matchExpressions.every((requirement) => meets(requirement, metadata?.labels ?? {})) &&
    matchFields.every((requirement) => meets(requirement, fields))
  );
}
