import { repeatedAt } from '@gantry/base';
import { type FieldError, duplicate, required } from '@gantry/objects';

/** Rules on the conditions of both kinds of flow control: each type once. */
export function validateFlowConditions(conditions: readonly { readonly type?: string }[] | undefined): FieldError[] {
  const types = (conditions ?? []).map(({ type = '' }) => type);
  const isRepeated = repeatedAt(types);
  return types.flatMap((type, i) => {
    const path = `status.conditions[${i}].type`;
    const twice = isRepeated(i) ? [duplicate(path, type)] : [];
    return type === '' ? [...twice, required(path)] : twice;
  });
}

/** Keeps everything but the status as it was: what an update of the status may change. */
export function keepAllButStatus<S>(
  object: { metadata: { managedFields?: unknown }; spec?: S },
  old: { metadata: object; spec?: S },
): void {
  const { managedFields } = object.metadata;
  object.metadata = { ...old.metadata, ...(managedFields === undefined ? {} : { managedFields }) };
  if (old.spec === undefined) delete object.spec;
  else object.spec = old.spec;
}
