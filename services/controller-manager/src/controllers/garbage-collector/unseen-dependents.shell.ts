import type { ObjectReader } from '@gantry/client';
import { type Cache, parseVersion } from '@gantry/controller-runtime';
import { apiVersionOf, type KubeObject, type Resource } from '@gantry/objects';
import { COLLECTED, isWithinScope } from './collected-resources.ts';

/** The page size of reads. */
const PAGE = 500;

/**
 * Dependents of built-in resources that the store has but the cache does not show yet. Caches of different resources advance independently,
 * and once the owner is gone, objects that should be orphaned would be collected. Reads only resources whose cache is older than the
 * owner's deletion, and only their metadata.
 */
export async function unseenDependents(
  owner: KubeObject,
  {
    cache,
    client,
  }: { readonly cache: Pick<Cache, 'reached' | 'dependentsOf'>; readonly client: Pick<ObjectReader, 'list'> },
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const { uid = '', namespace = '', resourceVersion } = owner.metadata;
  const marked = parseVersion(resourceVersion);
  const behind = COLLECTED.filter(
    (resource) => (resource.namespaced || namespace === '') && (cache.reached(resource) ?? 0) < marked,
  );
  const seen = new Set(cache.dependentsOf(uid).map(({ metadata }) => metadata.uid));
  const found: KubeObject[] = [];
  for (const resource of behind) {
    for await (const { metadata } of metadataOf(resource, namespace, client, signal)) {
      const isOwned = metadata.ownerReferences?.some((reference) => reference.uid === uid) === true;
      const dependent = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata };
      if (isOwned && !seen.has(metadata.uid) && isWithinScope(owner, dependent)) found.push(dependent);
    }
  }
  return found;
}

async function* metadataOf(
  resource: Resource,
  namespace: string,
  client: Pick<ObjectReader, 'list'>,
  signal: AbortSignal,
): AsyncIterable<KubeObject> {
  let continueToken = '';
  do {
    const page = await client.list(resource, { namespace, limit: PAGE, continueToken, metadataOnly: true }, signal);
    yield* page.items;
    continueToken = page.continueToken;
  } while (continueToken !== '');
}
