import { ignoreNotFound, type ObjectReader } from '@gantry/client';
import type { KubeObject, ObjectKey, Resource } from '@gantry/objects';
import type { Cache } from './cache.ts';

/**
 * The object of the cache, else of the store. The cache may be behind: an object that it does not have is absent only when the
 * store does not have it either. Use this before an absence leads to a deletion.
 */
export async function findObject<T extends KubeObject>(
  resource: Resource<T>,
  key: ObjectKey,
  { cache, client }: { readonly cache: Pick<Cache, 'get'>; readonly client: Pick<ObjectReader, 'get'> },
  signal: AbortSignal,
): Promise<T | undefined> {
  return cache.get(resource, key) ?? (await ignoreNotFound(client.get(resource, key, signal)));
}
