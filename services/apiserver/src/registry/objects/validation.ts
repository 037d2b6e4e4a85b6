import {
  type ResourceDefinition,
  type SubresourceDefinition,
  validateChange,
  validateNew,
  validatePartChange,
} from '@gantry/apimachinery';
import { type FieldError, type KubeObject, StatusError } from '@gantry/objects';

/** Refuses a new object that is not valid. */
export function requireValidNew(definition: ResourceDefinition, object: KubeObject): void {
  requireNone(definition, object, validateNew(definition, object));
}

/** Refuses a change that is not valid. A subresource has its own rules. */
export function requireValidChange(
  { definition, subresource }: { definition: ResourceDefinition; subresource: SubresourceDefinition | undefined },
  object: KubeObject,
  old: KubeObject,
): void {
  const errors =
    subresource === undefined
      ? validateChange(definition, object, old)
      : validatePartChange(definition, subresource, object, old);
  requireNone(definition, object, errors);
}

function requireNone(definition: ResourceDefinition, object: KubeObject, errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  // Kubernetes names the kind that it stores, and of custom resources the one that was sent.
  const { group } = definition.storage ?? definition;
  const kind = definition.publishedSchema === undefined ? definition.kind : object.kind;
  throw StatusError.invalid(group, kind, object.metadata.name ?? '', errors);
}
