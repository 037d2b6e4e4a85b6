import type { ObjectIndex } from '@gantry/controller-runtime';
import type { KubeObject, Resource } from '@gantry/objects';

/**
 * An index of your own on the cache of a resource, so that a reconcile or a watch finds objects without looking at all of them. Make it once, where
 * the controller is defined.
 *
 * @example
 * ```ts
 * const BY_CLAIM = indexBy(PODS, ({ metadata, spec }) =>
 *   (spec?.volumes ?? []).map(({ persistentVolumeClaim: claim }) => `${metadata.namespace}/${claim?.claimName}`),
 * );
 * const pods = cache.indexed(BY_CLAIM, `${key.namespace}/${key.name}`);
 * ```
 */
export function indexBy<T extends KubeObject>(
  resource: Resource<T>,
  valuesOf: (object: T) => readonly string[],
): ObjectIndex<T> {
  return { resource, valuesOf };
}
