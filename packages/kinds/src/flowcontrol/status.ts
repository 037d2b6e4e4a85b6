import { duplicate, type FieldError, type KubeObject, repeatedAt, required } from '@gantry/objects';
import { METADATA_AND_SPEC, PART_VERBS } from '@gantry/apimachinery';

interface FlowObject extends KubeObject {
  status?: { readonly conditions?: readonly { readonly type?: string }[] };
}

/** Checks the conditions of both kinds of flow control: each type once. */
export function validateFlowConditions(conditions: readonly { readonly type?: string }[] | undefined): FieldError[] {
  const types = (conditions ?? []).map(({ type = '' }) => type);
  const isRepeated = repeatedAt(types);
  return types.flatMap((type, i) => {
    const path = `status.conditions[${i}].type`;
    const twice = isRepeated(i) ? [duplicate(path, type)] : [];
    return type === '' ? [...twice, required(path)] : twice;
  });
}

/** Restores everything but the status: a status update changes only that. */
function keepAllButStatus<S>(
  object: { metadata: { managedFields?: unknown }; spec?: S },
  old: { metadata: object; spec?: S },
): void {
  const { managedFields } = object.metadata;
  object.metadata = { ...old.metadata, ...(managedFields === undefined ? {} : { managedFields }) };
  if (old.spec === undefined) delete object.spec;
  else object.spec = old.spec;
}

/** The common strategy of both kinds of flow control: writes of the object do not change its status. */
export const flowStrategy = {
  prepareForCreate: (object: FlowObject) => {
    object.status = {};
  },
  prepareForUpdate: (object: FlowObject, old: FlowObject) => {
    object.status = old.status ?? {};
  },
  metadataOnUpdate: 'object',
  hasGeneration: true,
} as const;

/** The status of both kinds of flow control. */
export const flowStatus = {
  name: 'status',
  resetFields: METADATA_AND_SPEC,
  verbs: PART_VERBS,
  prepareForUpdate: keepAllButStatus,
  validateUpdate: ({ status }: FlowObject) => validateFlowConditions(status?.conditions),
};
