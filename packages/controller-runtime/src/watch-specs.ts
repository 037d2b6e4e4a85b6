import { keyOf, type KubeObject, type ObjectKey, type ResourceRef } from '@gantry/api';
import type { WatchSpec } from './controller.ts';

/** Queues the changed object itself. */
export function watchSelf(resource: ResourceRef): WatchSpec {
  return { resource, keys: (object, old) => keysOf(object ?? old) };
}

/** Queues the controlling owner of the changed object, the former one too when it was handed over. */
export function watchOwned(resource: ResourceRef, ownerKind: string): WatchSpec {
  return {
    resource,
    keys: (object, old) => {
      const now = ownerKey(object, ownerKind);
      const before = ownerKey(old, ownerKind);
      if (now === undefined) return before === undefined ? [] : [before];
      return before === undefined || before.name === now.name ? [now] : [now, before];
    },
  };
}

/** Queues whatever `select` names for the changed object (its last state when it is gone). */
export function watchMapped<T extends KubeObject>(
  resource: ResourceRef,
  select: (object: T) => readonly ObjectKey[],
): WatchSpec {
  return {
    resource,
    keys: (object, old) => {
      const subject = object ?? old;
      return subject === undefined ? [] : select(subject as T);
    },
  };
}

function keysOf(object: KubeObject | undefined): readonly ObjectKey[] {
  return object === undefined ? [] : [keyOf(object)];
}

function ownerKey(object: KubeObject | undefined, ownerKind: string): ObjectKey | undefined {
  const owner = object?.metadata.ownerReferences?.find((reference) => reference.controller === true);
  if (object === undefined || owner === undefined || owner.kind !== ownerKind) return undefined;
  return { namespace: object.metadata.namespace ?? '', name: owner.name };
}
