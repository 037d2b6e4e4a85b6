import type { KubeObject, ObjectKey, Resource } from '@gantry/objects';
import {
  createObjectClient,
  ignoreNotFound,
  type ObjectClient,
  type ObjectWrite,
  type WriteResult,
} from '@gantry/client';
import type { Random } from '@gantry/base';
import type { Cache } from './cache.ts';
import { batchOnce, type Sending, settleCreate, writeOnce } from './named-creates.ts';
import { parseVersion } from './revision.ts';

/** A write that the cache must show before its key may be reconciled again. */
type Expectation =
  | {
      readonly kind: 'version';
      readonly resource: Resource;
      readonly resourceVersion: number;
      readonly object: KubeObject;
    }
  | { readonly kind: 'deleted'; readonly resource: Resource; readonly key: ObjectKey; readonly uid: string };

type WriteObserver = (write: ObjectWrite, object: KubeObject) => void;

/**
 * Remembers the writes of a reconcile, so that the next reconcile of the same key does not use a cache that is older than them. Like
 * Kubernetes' "expectations", but by version instead of by count.
 */
export class ExpectedWrites {
  readonly #inner: ObjectClient;
  readonly #random: Random;
  readonly #onWrite: WriteObserver | undefined;
  /** Created on first use: most reconciles write nothing. */
  #client: ObjectClient | undefined;
  #expected: Expectation[] = [];
  /** Writes whose response was lost and whose outcome has not been read yet. */
  #unknown: ObjectWrite[] = [];

  /** `random` chooses generated names. `onWrite` is called for each write that is known to have succeeded. */
  constructor(client: ObjectClient, random: Random, onWrite?: WriteObserver) {
    this.#inner = client;
    this.#random = random;
    this.#onWrite = onWrite;
  }

  /** The client whose writes are remembered. */
  get client(): ObjectClient {
    this.#client ??= this.#createClient();
    return this.#client;
  }

  /** The number of remembered writes. `unseenBy` removes those that the cache shows. */
  get count(): number {
    return this.#expected.length;
  }

  /** Whether the cache shows all writes and the outcome of each is known. Writes to resources that are not cached do not count. */
  areSeenBy(cache: Cache): boolean {
    return this.unseenBy(cache) === undefined;
  }

  /** A resource with a write that the cache does not show yet; undefined when there is none. */
  unseenBy(cache: Cache): Resource | undefined {
    const unknown = this.#unknown.find(({ resource }) => cache.reached(resource) !== undefined);
    if (unknown !== undefined) return unknown.resource;
    this.#expected = this.#expected.filter((expectation) => !isSeen(expectation, cache));
    return this.#expected[0]?.resource;
  }

  /**
   * Finds out the outcome of writes whose response was lost: reads, and sends a create again that a read does not find. Rejects with the first
   * error. May be called again.
   */
  async settle(signal: AbortSignal): Promise<void> {
    for (const write of [...this.#unknown]) {
      await this.#read(write, signal);
      this.#unknown = this.#unknown.filter((other) => other !== write);
    }
  }

  #createClient(): ObjectClient {
    const client = this.#inner;
    const sending: Sending = { client, random: this.#random, onUnknown: (write) => this.#unknown.push(write) };
    return createObjectClient({
      get: (resource, key, signal) => client.get(resource, key, signal),
      list: (resource, options, signal) => client.list(resource, options, signal),
      watch: (resource, options, signal) => client.watch(resource, options, signal),
      write: async (write, signal) => {
        const object = await writeOnce(sending, write, signal);
        this.#expect(write, object);
        return object;
      },
      batch: async (writes, signal) => {
        const results = await batchOnce(sending, writes, signal);
        writes.forEach((write, i) => this.#note(write, results[i]));
        return results;
      },
    });
  }

  async #read(write: ObjectWrite, signal: AbortSignal): Promise<void> {
    const { resource } = write;
    if (write.verb === 'create') {
      const created = await settleCreate(this.#inner, write, signal);
      if (created !== undefined) this.#expect(write, created);
      return;
    }
    const uid = write.verb === 'delete' ? write.options?.preconditions?.uid : undefined;
    if (write.verb !== 'delete' || uid === undefined) return;
    const object = await ignoreNotFound(this.#inner.get(resource, write.key, signal));
    const isGone = object?.metadata.uid !== uid || object.metadata.deletionTimestamp !== undefined;
    if (isGone) this.#expected.push({ kind: 'deleted', resource, key: write.key, uid });
  }

  #note(write: ObjectWrite, result: WriteResult | undefined): void {
    if (result?.ok === true) this.#expect(write, result.object);
  }

  #expect(write: ObjectWrite, object: KubeObject): void {
    const { resource } = write;
    this.#onWrite?.(write, object);
    if (write.verb === 'delete') {
      const uid = object.metadata?.uid;
      if (uid !== undefined) this.#expected.push({ kind: 'deleted', resource, key: write.key, uid });
      return;
    }
    const resourceVersion = parseVersion(object.metadata?.resourceVersion);
    if (resourceVersion > 0) this.#expected.push({ kind: 'version', resource, resourceVersion, object });
  }
}

function isSeen(expectation: Expectation, cache: Cache): boolean {
  const { namespace = '' } = expectation.kind === 'version' ? expectation.object.metadata : expectation.key;
  const reached = cache.reached(expectation.resource, namespace);
  if (reached === undefined) return true;
  if (expectation.kind === 'version') {
    // A watch with selectors reports nothing of other objects, and its version would be reached only by a bookmark.
    return reached >= expectation.resourceVersion || !cache.selects(expectation.resource, expectation.object);
  }
  const object = cache.get(expectation.resource, expectation.key);
  return object?.metadata.uid !== expectation.uid || object.metadata.deletionTimestamp !== undefined;
}
