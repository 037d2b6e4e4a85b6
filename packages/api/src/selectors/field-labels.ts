import { apiVersionOf, type ResourceDefinition } from '../resource.ts';
import { StatusError } from '../status-error.ts';

/** The fields by which objects of a kind may be selected. */
export interface FieldLabels {
  readonly supports: (field: string) => boolean;
  /** The answer to a field that is not one of them. */
  readonly refusal: (field: string) => StatusError;
}

type Selectable = Pick<ResourceDefinition, 'group' | 'version' | 'kind' | 'namespaced' | 'schema' | 'selectableFields'>;

/** What every kind has that names no fields of its own. */
const PLAIN: FieldLabels = {
  supports: (field) => field === 'metadata.name' || field === 'metadata.namespace',
  refusal: (field) =>
    StatusError.badRequest(
      `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
    ),
};

/** Kinds that say it in words of their own. */
const REFUSALS: Readonly<Record<string, (field: string, apiVersion: string) => string>> = {
  'batch/Job': (field) => `field label ${JSON.stringify(field)} not supported for Job`,
  'resource.k8s.io/ResourceSlice': (field, apiVersion) =>
    `field label not supported for ${apiVersion}, Kind=ResourceSlice: ${field}`,
};

/**
 * The fields that select objects of a kind. Kinds with fields of their own, and custom ones, know the namespace only where they
 * have one; all others take it as every kind does.
 */
export function fieldLabelsOf(definition: Selectable): FieldLabels {
  const { group, kind, namespaced, schema, selectableFields } = definition;
  const custom = typeof schema !== 'string';
  if (!custom && Object.keys(selectableFields).length === 0) return PLAIN;
  const message = REFUSALS[`${group}/${kind}`] ?? ((field: string) => `field label not supported: ${field}`);
  return {
    supports: (field) =>
      field === 'metadata.name' ||
      (field === 'metadata.namespace' && namespaced) ||
      Object.hasOwn(selectableFields, field),
    refusal: (field) => StatusError.badRequest(message(field, apiVersionOf(definition))),
  };
}
