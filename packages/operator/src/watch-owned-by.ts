import { watchMapped, type WatchSpec } from '@gantry/controller-runtime';
import { controllerOf, type KubeObject, parseApiVersion, type Resource } from '@gantry/objects';

/**
 * Queues the controlling owner of a changed object, if it is an object of `owners`, before and after the change. The owner is in the
 * object's namespace, or of cluster scope.
 *
 * @example
 * ```ts
 * watches: [watchSelf(DEPLOYMENTS), watchOwnedBy(DEPLOYMENTS, REPLICA_SETS)];
 * ```
 */
export function watchOwnedBy<T extends KubeObject>(owners: Resource, resource: Resource<T>): WatchSpec<T> {
  return watchMapped(resource, (object) => {
    const owner = controllerOf(object);
    if (owner === undefined || owner.kind !== owners.kind || parseApiVersion(owner.apiVersion).group !== owners.group)
      return [];
    return [{ namespace: owners.namespaced ? (object.metadata.namespace ?? '') : '', name: owner.name }];
  });
}
