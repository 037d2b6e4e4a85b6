import { formatKey, keyOf, type KubeObject, type ObjectKey, type Resource } from '@gantry/objects';
import type { WatchSpec } from './controller.ts';

/** Queues the changed object itself. `matters` decides which updates are queued; all when absent. */
export function watchSelf<T extends KubeObject>(
  resource: Resource<T>,
  matters: (object: T, old: T) => boolean = () => true,
): WatchSpec<T> {
  return {
    resource,
    keys: (object, old) => {
      const isUpdate = object !== undefined && old !== undefined && object.metadata.uid === old.metadata.uid;
      return isUpdate && !matters(object, old) ? [] : keysOf(object ?? old);
    },
  };
}

/**
 * Queues the keys that `select` returns for the object before and after the change. So both the old and the new related object are queued.
 */
export function watchMapped<T extends KubeObject>(
  resource: Resource<T>,
  select: (object: T) => readonly ObjectKey[],
): WatchSpec<T> {
  return {
    resource,
    keys: (object, old) => {
      const states = [old, object].filter((state) => state !== undefined);
      return [...new Map(states.flatMap(select).map((key) => [formatKey(key), key])).values()];
    },
  };
}

function keysOf(object: KubeObject | undefined): readonly ObjectKey[] {
  return object === undefined ? [] : [keyOf(object)];
}
