import {
  type Errors,
  type ResourceDefinition,
  type SubresourceDefinition,
  validateChangeInTurns,
  validateNewInTurns,
  validatePartChange,
} from '@gantry/apimachinery';
import type { InTurns } from '@gantry/base';
import { type FieldError, type KubeObject, StatusError } from '@gantry/objects';

/** Runs a computation in turns, so that a long one does not block the event loop. */
export type Compute = <T>(work: InTurns<T>) => Promise<T>;

/** The errors of validation rules. Returns a promise only if the evaluation needs several turns. */
export function errorsInTurns(
  compute: Compute,
  errors: Errors,
): readonly FieldError[] | Promise<readonly FieldError[]> {
  return typeof errors === 'function' ? compute(errors) : errors;
}

/** Throws Invalid for an invalid new object. */
export async function requireValidNew(
  compute: Compute,
  definition: ResourceDefinition,
  object: KubeObject,
): Promise<void> {
  requireNone(definition, object, await errorsInTurns(compute, validateNewInTurns(definition, object)));
}

/** Throws Invalid for an invalid update. A subresource has its own rules. */
export async function requireValidChange(
  compute: Compute,
  { definition, subresource }: { definition: ResourceDefinition; subresource: SubresourceDefinition | undefined },
  object: KubeObject,
  old: KubeObject,
): Promise<void> {
  const errors =
    subresource === undefined
      ? validateChangeInTurns(definition, object, old)
      : validatePartChange(definition, subresource, object, old);
  requireNone(definition, object, await errorsInTurns(compute, errors));
}

function requireNone(definition: ResourceDefinition, object: KubeObject, errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  // The message names the stored kind, and for custom resources the sent kind, as in Kubernetes.
  const { group } = definition.storage ?? definition;
  const kind = definition.publishedSchema === undefined ? definition.kind : object.kind;
  throw StatusError.invalid(group, kind, object.metadata.name ?? '', errors);
}
