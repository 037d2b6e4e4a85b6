import { ignoreNotFound, type ObjectReader } from '@gantry/client';
import type { KubeObject, ObjectKey, Resource } from '@gantry/objects';
import type { Cache } from './cache.ts';

/**
 * The object from the cache, else from the store. The cache may be behind, so an object that is missing there may still exist. Use this
 * before a missing object leads to a deletion.
 */
export async function findObject<T extends KubeObject>(
  resource: Resource<T>,
  key: ObjectKey,
  { cache, client }: { readonly cache: Pick<Cache, 'get'>; readonly client: Pick<ObjectReader, 'get'> },
  signal: AbortSignal,
): Promise<T | undefined> {
  return cache.get(resource, key) ?? (await ignoreNotFound(client.get(resource, key, signal)));
}
