import type { JsonObject } from '@gantry/objects';

/**
 * `mod_revision * 256 + index in the transaction`: unique, comparable, never falling. A safe integer up to 2^45 revisions.
 * A list carries `revision * 256 + 255`. Values below 256 are never valid.
 */
export type ResourceVersion = number;

/** A condition of a leader's write: the election key must still have this create revision. */
export interface Fence {
  readonly electionKey: string;
  readonly epoch: number;
  readonly incarnation: string;
}

/** Who writes, recorded in the envelope. */
export interface Writer {
  readonly name: string;
  readonly fence?: Fence;
}

/** A key as it was read: in this version, or not there. */
export interface Unchanged {
  readonly key: string;
  readonly resourceVersion: ResourceVersion | 'absent';
}

/** One guarded write. */
export interface GuardedWrite {
  /** `/registry/<group>/<resource>/<namespace>/<name>`, empty segments left out. */
  readonly key: string;
  /** 'absent' for a create; otherwise the version that was read. */
  readonly expected: 'absent' | ResourceVersion;
  /** The object without `metadata.resourceVersion` as JSON bytes, or null to delete. */
  readonly value: Uint8Array | null;
  /** Keys that must still be as they were read (the Namespace of a create, which was not being deleted; claims of addresses). */
  readonly unchanged?: readonly Unchanged[];
  readonly writer: Writer;
}

/** A stored object as read. `object` has its `metadata.resourceVersion` set, is frozen by convention and shared: copy before changing. */
export interface StoredObject {
  readonly key: string;
  readonly resourceVersion: ResourceVersion;
  readonly object: JsonObject;
  /** Size of what is stored, without its envelope. */
  readonly bytes: number;
}

/** The result of a write whose outcome is known. */
export type WriteOutcome =
  | { readonly kind: 'committed'; readonly resourceVersion: ResourceVersion }
  /** The guard did not hold; what is stored now, or null when nothing is. */
  | { readonly kind: 'conflict'; readonly current: StoredObject | null }
  /** A key of `unchanged` is not as it was read. */
  | { readonly kind: 'missing'; readonly key: string }
  /** Another leader exists, or the lease ran out. */
  | { readonly kind: 'fenced' };

/** One change of the tree. `previous` is not given: the watch cache holds it. */
export type StoreEvent =
  | (StoredObject & { readonly kind: 'put'; readonly created: boolean })
  | { readonly kind: 'delete'; readonly key: string; readonly resourceVersion: ResourceVersion };

/** Elements of a watch over the whole tree. Events of one revision are never split over two batches. */
export type StoreWatchItem =
  /** `revision` is complete: every event up to it has been delivered. */
  | { readonly kind: 'events'; readonly events: readonly StoreEvent[]; readonly revision: number }
  | { readonly kind: 'progress'; readonly revision: number }
  /** History was compacted away below what is needed: list again. The watch ends after it. */
  | { readonly kind: 'compacted'; readonly compactRevision: number };

/** A consistent page of a range. */
export interface StorePage {
  readonly revision: number;
  readonly objects: readonly StoredObject[];
  /** Key to go on from, when there is more. */
  readonly next: string | undefined;
  /** How many lie beyond this page. */
  readonly remaining: number;
}

/** Errors of the store: unavailable (nothing was written, or nothing could be read), unknown (a write may land), or compacted (an exact revision is gone). */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: 'unavailable' | 'outcome-unknown' | 'compacted' | 'too-large' | 'no-space';

  constructor(code: StoreError['code'], message: string, options?: ErrorOptions) {
    super(`${code}: ${message}`, options);
    this.code = code;
  }
}

/** Reads what is stored. */
export interface ObjectReader {
  /** Linearizable. */
  get(key: string, signal: AbortSignal): Promise<StoredObject | null>;
  /** A page of the keys under `prefix`, at `revision` when given (else now, linearizable), from `startKey` when given. */
  list(
    prefix: string,
    options: { revision?: number; limit?: number; startKey?: string },
    signal: AbortSignal,
  ): Promise<StorePage>;
  /** The newest revision, linearizable. Callers that ask at the same time share one question that is not yet sent. */
  currentRevision(signal: AbortSignal): Promise<number>;
}

/** Writes under guards. Writes that come together are committed together. */
export interface ObjectWriter {
  /** Resolves when the outcome is known. Throws StoreError 'outcome-unknown' only past the signal. */
  write(write: GuardedWrite, signal: AbortSignal): Promise<WriteOutcome>;
}

/** Follows all changes of the store. */
export interface ObjectWatcher {
  /** Everything after `revision`, until aborted, 'compacted' or an error. Reconnects by itself without gaps or repeats. */
  watch(revision: number, signal: AbortSignal): AsyncIterable<StoreWatchItem>;
  /** Asks for a progress item soon on the watches that are open. */
  requestProgress(): void;
}

/** Objects in etcd, or in memory for tests: the same contract suite runs against both. */
export interface ObjectStore extends ObjectReader, ObjectWriter, ObjectWatcher {}
