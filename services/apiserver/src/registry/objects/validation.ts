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

/** Computes, with other work in between when it takes long. */
export type Compute = <T>(work: InTurns<T>) => Promise<T>;

/** What rules found; without a promise where they found it at once. */
export function errorsInTurns(
  compute: Compute,
  errors: Errors,
): readonly FieldError[] | Promise<readonly FieldError[]> {
  return typeof errors === 'function' ? compute(errors) : errors;
}

/** Refuses a new object that is not valid. */
export async function requireValidNew(
  compute: Compute,
  definition: ResourceDefinition,
  object: KubeObject,
): Promise<void> {
  requireNone(definition, object, await errorsInTurns(compute, validateNewInTurns(definition, object)));
}

/** Refuses a change that is not valid. A subresource has its own rules. */
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
  // Kubernetes names the kind that it stores, and of custom resources the one that was sent.
  const { group } = definition.storage ?? definition;
  const kind = definition.publishedSchema === undefined ? definition.kind : object.kind;
  throw StatusError.invalid(group, kind, object.metadata.name ?? '', errors);
}
