import { type ResourceDefinition, cloneWithEmpty } from '@gantry/apimachinery';
import { type KubeObject, type ObjectMeta, StatusError, equalJson } from '@gantry/objects';
import { formatTime, type Instant } from '@gantry/base';
import type { Target } from '../contract/registry.ts';

/** Metadata fields that only the server sets. */
const SERVER_FIELDS = ['selfLink', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const;

/** Sets the namespace of the object from the path. Throws BadRequest when the body has another namespace. */
export function checkNamespace(target: Target, metadata: ObjectMeta): void {
  const { definition, namespace } = target;
  if (!definition.namespaced) {
    delete metadata.namespace;
    return;
  }
  if (metadata.namespace === undefined || metadata.namespace === '') metadata.namespace = namespace;
  else if (metadata.namespace !== namespace) {
    throw StatusError.badRequest(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  }
}

/** Throws BadRequest unless the name in the body is the name in the path. */
export function checkName(target: Target, metadata: ObjectMeta): void {
  if (metadata.name === undefined || metadata.name === '') {
    throw StatusError.badRequest(
      `the name of the object (${target.name} based on URL) was undeterminable: name must be provided`,
    );
  }
  if (metadata.name !== target.name) {
    throw StatusError.badRequest(
      `the name of the object (${metadata.name}) does not match the name on the URL (${target.name})`,
    );
  }
}

/** Sets the metadata of a new object and removes fields that clients may not set. Keeps resourceVersion, which a dry run returns. */
export function fillNew(object: KubeObject, definition: ResourceDefinition, now: Instant, uid: string): void {
  const { metadata } = object;
  for (const field of SERVER_FIELDS) delete metadata[field];
  metadata.creationTimestamp = formatTime(now);
  metadata.uid = uid;
  if (definition.strategy.hasGeneration === true) metadata.generation = 1;
}

/**
 * Copies the stored metadata that an update keeps. Fills in fields that a client may omit. Validation rejects changes of fields that a
 * client may not change.
 */
export function carryMetadata(object: KubeObject, old: KubeObject): void {
  const { metadata } = object;
  delete metadata.selfLink;
  if (metadata.uid === undefined || metadata.uid === '') copyField(metadata, old.metadata, 'uid');
  if (old.metadata.deletionTimestamp !== undefined) copyField(metadata, old.metadata, 'deletionTimestamp');
  if (metadata.deletionGracePeriodSeconds === undefined) {
    copyField(metadata, old.metadata, 'deletionGracePeriodSeconds');
  }
  copyField(metadata, old.metadata, 'creationTimestamp');
  copyField(metadata, old.metadata, 'generation');
  copyField(metadata, old.metadata, 'resourceVersion');
}

function copyField(to: ObjectMeta, from: ObjectMeta, field: keyof ObjectMeta): void {
  const value = from[field];
  if (value === undefined) delete to[field];
  else Object.assign(to, { [field]: value });
}

/** Increases the generation of an object whose desired state has changed. */
export function raiseGeneration(
  object: KubeObject,
  old: KubeObject,
  definition: ResourceDefinition,
  part: 'main' | 'subresource',
): void {
  const { hasGeneration, generationWith } = definition.strategy;
  if (hasGeneration !== true) return;
  const noted = generationWith === 'annotations' && part === 'main';
  const changed =
    !equalJson(desired(object), desired(old)) ||
    (generationWith === 'status' && part === 'main' && !equalJson(statusOf(object), statusOf(old))) ||
    (noted && !equalJson(object.metadata.annotations ?? {}, old.metadata.annotations ?? {}));
  if (changed) object.metadata.generation = (old.metadata.generation ?? 0) + 1;
}

function statusOf(object: KubeObject): unknown {
  return (object as KubeObject & { status?: unknown }).status;
}

function desired(object: KubeObject): object {
  const { metadata: _metadata, status: _status, ...rest } = object as KubeObject & { status?: unknown };
  return rest;
}

/** Whether `object` and `old` differ at most in times of managed fields. */
export function isUnchanged(object: KubeObject, old: KubeObject): boolean {
  return equalJson(withoutTimes(object), withoutTimes(old));
}

function withoutTimes(object: KubeObject): KubeObject {
  const { resourceVersion: _resourceVersion, managedFields, ...metadata } = object.metadata;
  const entries = managedFields?.map(({ time: _time, ...entry }) => entry);
  return { ...object, metadata: { ...metadata, managedFields: entries } };
}

/** A copy that callers may change. */
export function copyOf(object: KubeObject): KubeObject {
  return cloneWithEmpty(object);
}

/** The object in its stored shape: kind and apiVersion first, no resourceVersion. */
export function toStored(object: KubeObject): KubeObject {
  const { kind, apiVersion, metadata, ...rest } = object;
  const { resourceVersion: _resourceVersion, ...kept } = metadata;
  return { kind, apiVersion, metadata: kept, ...rest };
}
