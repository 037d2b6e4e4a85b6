import { StatusError, apiVersionOf } from '@gantry/objects';
import { type ResourceDefinition } from '../resource-definition.ts';

/** The fields by which objects of a kind may be selected. */
export interface FieldLabels {
  readonly supports: (field: string) => boolean;
  /** The answer to a field that is not one of them. */
  readonly refusal: (field: string) => StatusError;
}

type Selectable = Pick<
  ResourceDefinition,
  'group' | 'version' | 'namespaced' | 'schema' | 'selectableFields' | 'fieldSelectorError'
>;

/** What every kind has that names no fields of its own. */
const PLAIN: FieldLabels = {
  supports: (field) => field === 'metadata.name' || field === 'metadata.namespace',
  refusal: (field) =>
    StatusError.badRequest(
      `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
    ),
};

const unsupported = (field: string) => `field label not supported: ${field}`;

/**
 * The fields that select objects of a kind. Kinds with fields of their own, and custom ones, know the namespace only where they
 * have one; all others take it as every kind does.
 */
export function fieldLabelsOf(definition: Selectable): FieldLabels {
  const { namespaced, schema, selectableFields, fieldSelectorError = unsupported } = definition;
  const custom = typeof schema !== 'string';
  if (!custom && Object.keys(selectableFields).length === 0) return PLAIN;
  return {
    supports: (field) =>
      field === 'metadata.name' ||
      (field === 'metadata.namespace' && namespaced) ||
      Object.hasOwn(selectableFields, field),
    refusal: (field) => StatusError.badRequest(fieldSelectorError(field, apiVersionOf(definition))),
  };
}
