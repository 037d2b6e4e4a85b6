import { type KubeObject, parseFieldSelector, parseLabelSelector, type ResourceDefinition } from '@gantry/api';
import type { Filter } from '../cache/index.ts';

const FIXED_FIELDS: Readonly<Record<string, (object: KubeObject) => string>> = {
  'metadata.name': (object) => object.metadata.name ?? '',
  'metadata.namespace': (object) => object.metadata.namespace ?? '',
};

/** What a list or watch selects, and what its field selector demands of every object (by field). */
export interface Selection {
  readonly filter: Filter;
  readonly exact: ReadonlyMap<string, string>;
}

/** Reads both selectors. Throws BadRequest with Kubernetes' words. */
export function selectionOf(
  definition: ResourceDefinition,
  request: { readonly namespace: string; readonly labelSelector: string; readonly fieldSelector: string },
): Selection {
  const { namespace } = request;
  const labels = parseLabelSelector(request.labelSelector);
  const supported = new Set(Object.keys(definition.selectableFields));
  const fields = parseFieldSelector(request.fieldSelector, supported);
  const exact = new Map<string, string>();
  for (const { field, operator, value } of fields.requirements) if (operator === '=') exact.set(field, value);
  const nodeName = exact.get('spec.nodeName');
  const read = (object: KubeObject) => (field: string) =>
    (FIXED_FIELDS[field] ?? definition.selectableFields[field])?.(object) ?? '';
  const filter: Filter = {
    namespace,
    selectsAll: labels.empty && fields.empty,
    matches: (object) =>
      (namespace === '' || object.metadata.namespace === namespace) &&
      (labels.empty || labels.matches(object.metadata.labels ?? {})) &&
      (fields.empty || fields.matches(read(object))),
    ...(nodeName === undefined ? {} : { nodeName }),
  };
  return { filter, exact };
}

/** An object that has what every object of a selection has: what a rule about lists and watches can be decided by. */
export function exampleOf(selection: Selection): { [key: string]: string | object } {
  const out: Record<string, string | object> = {};
  for (const [field, value] of selection.exact) {
    const path = field.split('.');
    const last = path.pop();
    let at: Record<string, string | object> = out;
    for (const part of path) {
      const next = at[part];
      const inner: Record<string, string | object> = typeof next === 'object' ? (next as Record<string, string>) : {};
      at[part] = inner;
      at = inner;
    }
    if (last !== undefined) at[last] = value;
  }
  return out;
}
