import type { ResetFields, ResourceDefinition } from '../resource-definition.ts';
import { FieldSet } from './field-set.ts';

/** Returns the fields that a write can change, which it may own. The hooks of the kind reset the values of the others. */
export type FieldFilter = (fields: FieldSet) => FieldSet;

const keepAll: FieldFilter = (fields) => fields;

/** Resets metadata and spec: what a status cannot change that is checked as strictly as Kubernetes' newer kinds are. */
export const METADATA_AND_SPEC: ResetFields = { drop: [['metadata'], ['spec']] };
const SPEC: ResetFields = { drop: [['spec']] };
const STATUS: ResetFields = { drop: [['status']] };

/** One filter for each declaration: a filter is a set of paths, and every write needs one. */
const filters = new WeakMap<ResetFields, FieldFilter>();

function filterOf(reset: ResetFields): FieldFilter {
  const known = filters.get(reset);
  if (known !== undefined) return known;
  const filter = 'drop' in reset ? dropping(reset.drop) : keeping(reset.keep);
  filters.set(reset, filter);
  return filter;
}

function dropping(paths: readonly (readonly string[])[]): FieldFilter {
  const dropped = FieldSet.of(...paths.map((path) => path.map((field) => `f:${field}`)));
  return (fields) => fields.recursiveDifference(dropped);
}

function keeping(patterns: readonly (readonly string[])[]): FieldFilter {
  const kept = patterns.map((pattern) => pattern.map((field) => (field === '*' ? field : `f:${field}`)));
  return (fields) => fields.under(kept);
}

/** The filter of writes to a resource, or through one of its subresources ('' for none). */
export function resetFilterOf(
  { schema, strategy, subresources }: ResourceDefinition,
  subresource: string,
): FieldFilter {
  if (subresource === '') {
    const usual = subresources.some(({ name }) => name === 'status') ? STATUS : undefined;
    const reset = strategy.resetFields ?? usual;
    return reset === undefined ? keepAll : filterOf(reset);
  }
  const own = subresources.find(({ name }) => name === subresource)?.resetFields;
  if (own !== undefined) return filterOf(own);
  if (subresource !== 'status') return keepAll;
  return filterOf(typeof schema === 'string' ? SPEC : METADATA_AND_SPEC);
}
