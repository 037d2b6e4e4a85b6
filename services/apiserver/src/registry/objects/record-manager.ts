import {
  type ManagedKind,
  managedKindOf,
  normaliseShape,
  type OtherVersion,
  type ResourceDefinition,
  updateManagedFields,
} from '@gantry/apimachinery';
import type { Instant } from '@gantry/base';
import { apiVersionOf, cloneJson, type KubeObject, parseApiVersion } from '@gantry/objects';
import { findResource } from '@gantry/kinds';

/** Another served version of a resource, for managed fields of that version. Undefined when it does not exist. */
function otherVersion(definition: ResourceDefinition, apiVersion: string): OtherVersion | undefined {
  const other = findVersion(definition, apiVersion);
  if (other === undefined || storedAs(other) !== storedAs(definition)) return undefined;
  return {
    schema: other.schema,
    to: (object) => convert(object, definition, other),
    from: (object) => convert(object, other, definition),
  };
}

/** The definition of a version of a resource. It may be `definition` itself. */
export function findVersion(definition: ResourceDefinition, apiVersion: string): ResourceDefinition | undefined {
  const { group, version } = parseApiVersion(apiVersion);
  if (group === definition.group && version === definition.version) return definition;
  const sibling = group === definition.group ? definition.sibling?.(version) : undefined;
  const { resource, storage } = definition;
  return (
    sibling ??
    findResource({ group, version, resource }) ??
    (storage === undefined ? undefined : findResource({ group, version, resource: storage.resource }))
  );
}

function storedAs({ group, resource, storage }: ResourceDefinition): string {
  return `${storage?.group ?? group}/${storage?.resource ?? resource}`;
}

/**
 * Converts an object for managed fields. If a webhook does conversions, both versions are assumed to have the same fields, since managed
 * fields must not wait for a webhook.
 */
function convert(object: KubeObject, from: ResourceDefinition, to: ResourceDefinition): KubeObject {
  const whole = normaliseShape(cloneJson(object), from.schema);
  const stored = from.storage === undefined || from.storage.remote !== undefined ? whole : from.storage.toStored(whole);
  const there = to.storage === undefined || to.storage.remote !== undefined ? stored : to.storage.fromStored(stored);
  return normaliseShape({ ...there, apiVersion: apiVersionOf(to), kind: to.kind }, to.schema);
}

/**
 * Records in `object` the manager of each field that differs from `old`. Runs before admission and preparation, so that fields set by
 * them have no manager.
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

/** The rules for managed fields of a resource or of one of its subresources. */
export function managedIn(definition: ResourceDefinition, subresource: string): ManagedKind {
  return managedKindOf(definition, subresource, (apiVersion) => otherVersion(definition, apiVersion));
}
