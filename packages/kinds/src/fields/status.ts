import type { FieldError, KubeObject } from '@gantry/objects';
import { PART_VERBS } from '@gantry/apimachinery';

/**
 * Puts a part of an object back to what is stored: the status in changes of the object itself, the spec in changes through a
 * subresource.
 */
export function restoreField<T extends object, K extends keyof T>(object: T, old: T, field: K): void {
  if (old[field] === undefined) Reflect.deleteProperty(object, field);
  else object[field] = old[field];
}

/** The status of a kind with a status subresource: a change of the object leaves it as it is stored. */
export function keepStatus<T extends { status?: unknown }>(object: T, old: T): void {
  restoreField(object, old, 'status');
}

/** The status of a kind as most have it: a change of it leaves the spec as it is stored. */
export function statusSubresource<T extends KubeObject & { spec?: unknown }>(
  validateUpdate?: (object: T, old: T) => readonly FieldError[],
) {
  return {
    name: 'status',
    verbs: PART_VERBS,
    prepareForUpdate: (object: T, old: T) => {
      restoreField(object, old, 'spec');
    },
    validateUpdate,
  };
}

/** Puts the spec back to what is stored; an object always has one then. */
export function keepSpec<S extends object>(object: { spec?: S }, old: { spec?: S }): void {
  object.spec = { ...old.spec } as S;
}

const KEPT = [
  'deletionTimestamp',
  'generation',
  'selfLink',
  'labels',
  'annotations',
  'finalizers',
  'ownerReferences',
] as const;

/** For status subresources through which nothing of the metadata may be written. Changes `object`. */
export function keepMetadata(object: KubeObject, old: KubeObject): void {
  const to = object.metadata as Record<string, unknown>;
  const from = old.metadata as Record<string, unknown>;
  for (const field of KEPT) {
    if (from[field] === undefined) delete to[field];
    else to[field] = from[field];
  }
}
