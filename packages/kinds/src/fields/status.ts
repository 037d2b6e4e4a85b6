import type { FieldError, KubeObject } from '@gantry/objects';
import { PART_VERBS } from '@gantry/apimachinery';

/** Restores a field from the stored object: the status in updates of the object itself, the spec in updates through a subresource. */
export function restoreField<T extends object, K extends keyof T>(object: T, old: T, field: K): void {
  if (old[field] === undefined) Reflect.deleteProperty(object, field);
  else object[field] = old[field];
}

/** For kinds with a status subresource: an update of the object keeps the stored status. */
export function keepStatus<T extends { status?: unknown }>(object: T, old: T): void {
  restoreField(object, old, 'status');
}

/**
 * The usual status subresource of Kubernetes' kinds: an update keeps the stored spec, and may change metadata. A kind with its own schema
 * uses the hooks of `kindSchema` instead.
 */
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

/** Restores the stored spec; the object then always has one. */
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

/** For status subresources that must not change metadata. Changes `object`. */
export function keepMetadata(object: KubeObject, old: KubeObject): void {
  const to = object.metadata as Record<string, unknown>;
  const from = old.metadata as Record<string, unknown>;
  for (const field of KEPT) {
    if (from[field] === undefined) delete to[field];
    else to[field] = from[field];
  }
}
