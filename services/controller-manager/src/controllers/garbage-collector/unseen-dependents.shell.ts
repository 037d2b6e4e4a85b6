import type { ObjectReader } from '@gantry/client';
import { type Cache, parseVersion } from '@gantry/controller-runtime';
import { apiVersionOf, type KubeObject, type Resource } from '@gantry/objects';
import { COLLECTED, isWithinScope } from './collected-resources.ts';

/** What is read at a time. */
const PAGE = 500;

/**
 * Dependents that the store has and the cache does not show yet, of built-in resources: views of resources come independently of
 * each other, and once its owner is gone, what was to be left behind would be collected. Reads only resources whose view is older
 * than the owner's deletion, and only their metadata.
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
