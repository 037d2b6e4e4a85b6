import type { LeaseFence } from '@gantry/client';
import { type Lease, LEASES } from '@gantry/objects';
import { type Entry, objectKey, type WatchCache } from '../../cache/index.ts';
import type { Unchanged } from '../../storage/object-store.ts';
import type { Reader } from '../reading/reader.ts';

/**
 * Finds the versions of Leases in which terms of leaders last. Each renewal makes another version, so a write compares the version that was
 * found. An expired Lease that nobody has taken over is still that of its holder: no clock decides.
 */
export class LeaseTerms {
  readonly #cache: Pick<WatchCache, 'ready' | 'resource'>;
  readonly #reader: Pick<Reader, 'fromStore'>;

  constructor(cache: Pick<WatchCache, 'ready' | 'resource'>, reader: Pick<Reader, 'fromStore'>) {
    this.#cache = cache;
    this.#reader = reader;
  }

  /**
   * The Lease in the version of the cache, if that names the term. Otherwise as stored, because a term may have begun after what the
   * cache has. Undefined when the term has ended.
   */
  async cached(term: LeaseFence, signal: AbortSignal): Promise<Unchanged | undefined> {
    const entry = this.#cache.ready ? this.#cache.resource(LEASES).get(keyOf(term)) : undefined;
    return unchangedIn(entry, term) ?? (await this.stored(term, signal));
  }

  /** The Lease in its newest version. Undefined when the term has ended. */
  async stored(term: LeaseFence, signal: AbortSignal): Promise<Unchanged | undefined> {
    return unchangedIn(await this.#reader.fromStore(keyOf(term), signal), term);
  }
}

function keyOf({ namespace, name }: LeaseFence): string {
  return objectKey(LEASES, namespace, name);
}

function unchangedIn(entry: Entry | undefined, { uid, holder, transitions }: LeaseFence): Unchanged | undefined {
  if (entry === undefined) return undefined;
  const { metadata, spec } = entry.response.object as Lease;
  const isSame =
    metadata.uid === uid && spec?.holderIdentity === holder && (spec.leaseTransitions ?? 0) === transitions;
  return isSame ? { key: entry.key, resourceVersion: entry.resourceVersion } : undefined;
}
