import {
  applyPatch,
  decodeAs,
  decodeObject,
  encodeProtobuf as encodeObject,
  type FieldError,
  type KubeObject,
  type ResourceDefinition,
  managedKindOf,
  type ManagedKind,
  settleShape,
  StatusError,
  type SubresourceDefinition,
  updateManagedFields,
  validateChange,
  validateNew,
  validatePartChange,
} from '@gantry/api';
import type { Instant } from '@gantry/base';
import type { Body, RequestContext, WriteOptions } from '../driver.ts';
import { otherVersion } from './other-versions.ts';

/** The bytes of an object, envelope included. */
export function encodeProtobuf(object: KubeObject): Uint8Array {
  return encodeObject(object);
}

/** Reads a body of the resource's own kind, with its defaults set. */
export function decodeBody(
  body: Body,
  definition: ResourceDefinition,
  options: WriteOptions,
  context: RequestContext,
): KubeObject {
  const { object, warnings } = decodeObject({
    bytes: body.bytes,
    mediaType: body.mediaType,
    definition,
    mode: options.fieldValidation,
  });
  for (const warning of warnings) context.warn(warning);
  return withDefaults(definition, object);
}

/** Reads a body of a kind that is no resource's own (`autoscaling.v1.Scale`). */
export function decodeOther(body: Body, schema: string, options: WriteOptions, context: RequestContext): KubeObject {
  const { object, warnings } = decodeAs(schema, body.bytes, body.mediaType, options.fieldValidation);
  for (const warning of warnings) context.warn(warning);
  return object;
}

/** Sets what Kubernetes defaults in code, in the shape that it answers. Changes and gives back `object`. */
export function withDefaults(definition: ResourceDefinition, object: KubeObject): KubeObject {
  definition.strategy.applyDefaults?.(object);
  return settled(definition, object);
}

/** The shape in which objects are compared, stored and answered. Changes and gives back `object`. */
export function settled(definition: ResourceDefinition, object: KubeObject): KubeObject {
  return settleShape(object, definition.schema);
}

/** `original` with a patch applied, defaults set; the original is not touched. */
export function patched(
  original: KubeObject,
  patch: { readonly bytes: Uint8Array; readonly type: string },
  definition: ResourceDefinition,
  options: WriteOptions,
): { object: KubeObject; warnings: readonly string[] } {
  const { object, warnings } = applyPatch(patch.type, original, patch.bytes, definition, options.fieldValidation);
  return { object: withDefaults(definition, object as unknown as KubeObject), warnings };
}

/** The same for a kind that is no resource's own. */
export function patchedOther(
  original: KubeObject,
  patch: { readonly bytes: Uint8Array; readonly type: string },
  schema: string,
  definition: ResourceDefinition,
  options: WriteOptions,
): KubeObject {
  const { object } = applyPatch(patch.type, original, patch.bytes, definition, options.fieldValidation, schema);
  return object as unknown as KubeObject;
}

/** Refuses a new object that is not valid. */
export function requireValidNew(definition: ResourceDefinition, object: KubeObject): void {
  requireNone(definition, object, validateNew(definition, object));
}

/** Refuses a change that is not valid; through a subresource its own rules apply. */
export function requireValidChange(
  definition: ResourceDefinition,
  subresource: SubresourceDefinition | undefined,
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

/**
 * Records in `object` who set which field: what differs from `old` is the manager's. Before admission and preparation: what
 * those set is nobody's.
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

/** What writes of a resource, or through one of its subresources, are recorded by. */
export function managedIn(definition: ResourceDefinition, subresource: string): ManagedKind {
  return managedKindOf(definition, subresource, (apiVersion) => otherVersion(definition, apiVersion));
}
