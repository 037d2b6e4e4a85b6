import { type ManagedKind, managedKindOf, type ResourceDefinition, updateManagedFields } from '@gantry/apimachinery';
import type { Instant } from '@gantry/base';
import type { KubeObject } from '@gantry/objects';
import { otherVersion } from './other-versions.ts';

/**
 * Records in `object` the manager of each field that differs from `old`. This comes before admission and preparation: the fields
 * that those set have no manager.
 */
export function recordManager(
  object: KubeObject,
  old: KubeObject | undefined,
  by: {
    readonly definition: ResourceDefinition;
    readonly manager: string;
    readonly subresource: string;
    readonly now: Instant;
  },
): void {
  const { definition, manager, subresource, now } = by;
  const of = managedIn(definition, subresource);
  const managedFields = updateManagedFields({ of, oldObject: old, newObject: object, manager, now });
  if (managedFields.length === 0) delete object.metadata.managedFields;
  else object.metadata.managedFields = [...managedFields];
}

/** How the managers of the fields of a resource, or of one of its subresources, are recorded. */
export function managedIn(definition: ResourceDefinition, subresource: string): ManagedKind {
  return managedKindOf(definition, subresource, (apiVersion) => otherVersion(definition, apiVersion));
}
