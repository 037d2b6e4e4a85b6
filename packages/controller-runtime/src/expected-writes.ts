import type { KubeObject, ObjectKey, Resource } from '@gantry/objects';
import { createObjectClient, type ObjectClient, type ObjectWrite, type WriteResult } from '@gantry/client';
import type { Random } from '@gantry/base';
import type { Cache } from './cache.ts';
import { batchOnce, writeOnce } from './named-creates.ts';
import { parseVersion } from './revision.ts';

/** A write that the cache must show before its key may be reconciled again. */
type Expectation =
  | { readonly kind: 'version'; readonly resource: Resource; readonly resourceVersion: number }
  | { readonly kind: 'deleted'; readonly resource: Resource; readonly key: ObjectKey; readonly uid: string };

/**
 * Remembers what a reconcile wrote, so that the next one for the same key does not act on a cache that has not seen it
 * (Kubernetes' "expectations", by version instead of by count).
 */
export class ExpectedWrites {
  readonly client: ObjectClient;
  #expected: Expectation[] = [];

  /** `random` chooses generated names. */
  constructor(client: ObjectClient, random: Random) {
    this.client = createObjectClient({
      get: (resource, key, signal) => client.get(resource, key, signal),
      list: (resource, options, signal) => client.list(resource, options, signal),
      watch: (resource, options, signal) => client.watch(resource, options, signal),
      write: async (write, signal) => {
        const object = await writeOnce(client, write, random, signal);
        this.#expect(write, object);
        return object;
      },
      batch: async (writes, signal) => {
        const results = await batchOnce(client, writes, random, signal);
        writes.forEach((write, i) => this.#note(write, results[i]));
        return results;
      },
    });
  }

  /** Whether anything was written. */
  get count(): number {
    return this.#expected.length;
  }

  /** Whether the cache shows all of them. Writes to resources that are not cached do not count. */
  areSeenBy(cache: Cache): boolean {
    this.#expected = this.#expected.filter((expectation) => !isSeen(expectation, cache));
    return this.#expected.length === 0;
  }

  #note(write: ObjectWrite, result: WriteResult | undefined): void {
    if (result?.ok === true) this.#expect(write, result.object);
  }

  #expect(write: ObjectWrite, object: KubeObject): void {
    const { resource } = write;
    if (write.verb === 'delete') {
      const uid = object.metadata?.uid;
      if (uid !== undefined) this.#expected.push({ kind: 'deleted', resource, key: write.key, uid });
      return;
    }
    const resourceVersion = parseVersion(object.metadata?.resourceVersion);
    if (resourceVersion > 0) this.#expected.push({ kind: 'version', resource, resourceVersion });
  }
}

function isSeen(expectation: Expectation, cache: Cache): boolean {
  const reached = cache.reached(expectation.resource);
  if (reached === undefined) return true;
  if (expectation.kind === 'version') return reached >= expectation.resourceVersion;
  const object = cache.get(expectation.resource, expectation.key);
  return object?.metadata.uid !== expectation.uid || object.metadata.deletionTimestamp !== undefined;
}
