import type { JsonObject } from '@gantry/objects';

/**
 * The version of an object: `mod_revision * 256 + index in the transaction`. It is unique and never decreases. It is a safe integer up
 * to 2^45 revisions. The version of a list is `revision * 256 + 255`. Values below 256 are not valid.
 */
export type ResourceVersion = number;

/** The condition of a write by a leader: the election key must still have the create revision `epoch`. */
export interface Fence {
  readonly electionKey: string;
  readonly epoch: number;
  readonly incarnation: string;
}

/** The writer of an object, recorded in the envelope. */
export interface Writer {
  readonly name: string;
  readonly fence?: Fence;
}

/** A key and the version in which it was read; 'absent' if it did not exist. */
export interface Unchanged {
  readonly key: string;
  readonly resourceVersion: ResourceVersion | 'absent';
}

/** One guarded write. */
export interface GuardedWrite {
  /** `/registry/<group>/<resource>/<namespace>/<name>`, without empty segments. */
  readonly key: string;
  /** 'absent' for a create; otherwise the version that was read. */
  readonly expected: 'absent' | ResourceVersion;
  /** The object without `metadata.resourceVersion` as JSON bytes, or null to delete. */
  readonly value: Uint8Array | null;
  /** Other keys that must not have changed since they were read: the Namespace of a new object, the claims of its addresses. */
  readonly unchanged?: readonly Unchanged[];
  readonly writer: Writer;
}

/** A stored object as read. `object` has its `metadata.resourceVersion`. It is shared, so callers must copy it before they change it. */
export interface StoredObject {
  readonly key: string;
  readonly resourceVersion: ResourceVersion;
  readonly object: JsonObject;
  /** Size of the stored value without its envelope. */
  readonly bytes: number;
}

/** The result of a write whose outcome is known. */
export type WriteOutcome =
  | { readonly kind: 'committed'; readonly resourceVersion: ResourceVersion }
  /** The guard did not hold. `current` is the stored object, or null when there is none. */
  | { readonly kind: 'conflict'; readonly current: StoredObject | null }
  /** A key of `unchanged` has changed since it was read. */
  | { readonly kind: 'stale'; readonly key: string }
  /** There is another leader, or the lease has expired. */
  | { readonly kind: 'fenced' };

/** One change in the store. It does not contain the previous state, which the watch cache has. */
export type StoreEvent =
  | (StoredObject & { readonly kind: 'put'; readonly created: boolean })
  | { readonly kind: 'delete'; readonly key: string; readonly resourceVersion: ResourceVersion };

/** Items of a watch of the whole store. All events of one revision are in the same item. */
export type StoreWatchItem =
  /** Every event up to `revision` has been delivered. */
  | { readonly kind: 'events'; readonly events: readonly StoreEvent[]; readonly revision: number }
  | { readonly kind: 'progress'; readonly revision: number }
  /** etcd has compacted events that this watch needs. The watch ends; the caller must list again. */
  | { readonly kind: 'compacted'; readonly compactRevision: number };

/** One page of a range of keys, consistent at `revision`. */
export interface StorePage {
  readonly revision: number;
  readonly objects: readonly StoredObject[];
  /** The first key of the next page; undefined on the last page. */
  readonly next: string | undefined;
  /** The number of objects after this page. */
  readonly remaining: number;
}

/**
 * An error of the store.
 * - `unavailable`: nothing was written, or nothing could be read.
 * - `outcome-unknown`: the write may still take effect.
 * - `compacted`: the requested revision no longer exists.
 * - `too-large`, `no-space`: etcd has rejected the write.
 */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: 'unavailable' | 'outcome-unknown' | 'compacted' | 'too-large' | 'no-space';

  constructor(code: StoreError['code'], message: string, options?: ErrorOptions) {
    super(`${code}: ${message}`, options);
    this.code = code;
  }
}

/** Reads stored objects. */
export interface ObjectReader {
  /** Reads one object, linearizable; null when it does not exist. */
  get(key: string, signal: AbortSignal): Promise<StoredObject | null>;
  /** A page of the keys under `prefix`, from `startKey` on. Without `revision` the read is linearizable. */
  list(
    prefix: string,
    options: { revision?: number; limit?: number; startKey?: string },
    signal: AbortSignal,
  ): Promise<StorePage>;
  /** The newest revision, linearizable. Concurrent callers share one request that has not been sent yet. */
  currentRevision(signal: AbortSignal): Promise<number>;
}

/** Writes with guards. Concurrent writes are committed in one transaction. */
export interface ObjectWriter {
  /** Resolves when the outcome is known. Else rejects with a StoreError: after 'outcome-unknown' the write may still take effect. */
  write(write: GuardedWrite, signal: AbortSignal): Promise<WriteOutcome>;
}

/** Watches all changes of the store. */
export interface ObjectWatcher {
  /** All events after `revision`, each exactly once. Reconnects by itself. Ends by abort, after the item 'compacted', or with an error. */
  watch(revision: number, signal: AbortSignal): AsyncIterable<StoreWatchItem>;
  /** Requests a progress item on the open watches. */
  requestProgress(): void;
}

/** A store of objects: etcd, or memory in tests. The same contract suite tests both. */
export interface ObjectStore extends ObjectReader, ObjectWriter, ObjectWatcher {}
