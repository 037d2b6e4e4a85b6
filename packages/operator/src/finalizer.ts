import { ignoreNotFound, type ObjectWriter } from '@gantry/client';
import type { Result } from '@gantry/controller-runtime';
import { keyOf, type KubeObject, type Resource } from '@gantry/objects';

/** An object whose deletion waits for `cleanUp`. */
export interface FinalizedObject<T extends KubeObject> {
  readonly client: Pick<ObjectWriter, 'patch'>;
  readonly resource: Resource<T>;
  readonly object: NoInfer<T>;
  /** A qualified name, such as `example.com/bucket`. */
  readonly finalizer: string;
  /** Called for an object that is not being deleted, after it has the finalizer. */
  readonly apply: () => Promise<Result>;
  /** Called for an object that is being deleted. Idempotent: it is called again when the removal of the finalizer fails. */
  readonly cleanUp: () => Promise<void>;
}

/**
 * Reconciles an object that stands for something outside the cluster. The finalizer is added before the first `apply`, so whatever that
 * creates is always cleaned up, and removed after `cleanUp`.
 *
 * @example
 * ```ts
 * reconcile: async (key, { cache, client }, signal) => {
 *   const object = cache.get(BUCKETS, key);
 *   if (object === undefined) return {};
 *   const apply = async () => (await cloud.ensureBucket(object.spec.name), {});
 *   const cleanUp = () => cloud.deleteBucket(object.spec.name);
 *   return await withFinalizer({ client, resource: BUCKETS, object, finalizer: 'example.com/bucket', apply, cleanUp }, signal);
 * };
 * ```
 */
export async function withFinalizer<T extends KubeObject>(
  { client, resource, object, finalizer, apply, cleanUp }: FinalizedObject<T>,
  signal: AbortSignal,
): Promise<Result> {
  const { uid, resourceVersion, finalizers = [], deletionTimestamp } = object.metadata;
  const isThere = finalizers.includes(finalizer);
  // The version makes the patch a conflict when somebody else has changed the list.
  const write = (changed: readonly string[]): Promise<T> => {
    const metadata = { uid, resourceVersion, finalizers: changed };
    return client.patch(resource, keyOf(object), { merge: { metadata } }, signal);
  };
  if (deletionTimestamp === undefined) {
    if (!isThere) {
      // The event of this write queues the key again, with the new version.
      await write([...finalizers, finalizer]);
      return {};
    }
    return await apply();
  }
  if (!isThere) return {};
  await cleanUp();
  await ignoreNotFound(write(finalizers.filter((name) => name !== finalizer)));
  return {};
}
