/** Options of every call. Without `member` a call goes to the preferred member, and reads are retried at the others. */
export interface CallOptions {
  readonly signal: AbortSignal;
  /** Time for one attempt at one member. */
  readonly timeoutMs?: number;
  /** Index of the only member to call, modulo the number of members. */
  readonly member?: number;
}

/** A key with its value. Revisions are numbers: exact up to 2^53. */
export interface KeyValue {
  readonly key: string;
  readonly value: Uint8Array;
  readonly createRevision: number;
  readonly modRevision: number;
  /** Decimal id of the lease, '0' for none. */
  readonly lease: string;
}

/** A read of one key or of a range of keys. */
export interface RangeRequest {
  readonly key: string;
  /** Exclusive end; absent for the key alone. `prefixEnd(prefix)` for all keys under a prefix. */
  readonly rangeEnd?: string;
  /** A past revision; the current one when absent. */
  readonly revision?: number;
  readonly limit?: number;
  readonly fields?: 'all' | 'keys' | 'count';
}

/** The keys of a range at one revision. */
export interface RangeResult {
  /** Current revision of the cluster at the time of the response, even if an older revision was read. */
  readonly revision: number;
  readonly kvs: readonly KeyValue[];
  /** Number of keys in the range, regardless of `limit`. */
  readonly count: number;
}

/** A condition. A key that does not exist has revisions 0 and no value: a `value` compare with it never holds. */
export type Compare =
  | { readonly key: string; readonly target: 'create-revision' | 'mod-revision'; readonly equals: number }
  | { readonly key: string; readonly target: 'value'; readonly equals: Uint8Array }
  | { readonly key: string; readonly target: 'exists' };

/** One step of a transaction. */
export type Operation =
  | { readonly kind: 'put'; readonly key: string; readonly value: Uint8Array; readonly lease?: string }
  | { readonly kind: 'delete'; readonly key: string }
  | ({ readonly kind: 'range' } & RangeRequest)
  | ({ readonly kind: 'transaction' } & Transaction);

/**
 * All compares, including nested ones, see the state before the outer transaction. Operations run in order and get one revision. Any error
 * fails the whole transaction, such as a lease that is gone, or a key that is put twice (also in the branch that is not taken).
 */
export interface Transaction {
  readonly compare: readonly Compare[];
  readonly success: readonly Operation[];
  readonly failure: readonly Operation[];
}

/** The result of one step, in the order of the steps. */
export type OperationResult =
  | { readonly kind: 'put' }
  | { readonly kind: 'delete'; readonly deleted: number }
  | { readonly kind: 'range'; readonly kvs: readonly KeyValue[] }
  | { readonly kind: 'transaction'; readonly succeeded: boolean; readonly results: readonly OperationResult[] };

/** Which branch was taken, and its results. */
export interface TransactionResult {
  /** The transaction's own revision when it wrote something. */
  readonly revision: number;
  readonly succeeded: boolean;
  readonly results: readonly OperationResult[];
}

/** Reads and guarded writes. Linearizable. */
export interface KeyValueStore {
  range(request: RangeRequest, options: CallOptions): Promise<RangeResult>;
  /** Never retried. EtcdError 'outcome-unknown' means that it may have been applied, or may be applied later. */
  transact(transaction: Transaction, options: CallOptions): Promise<TransactionResult>;
}

/** One change of a key. */
export type WatchedEvent =
  | { readonly kind: 'put'; readonly kv: KeyValue }
  | { readonly kind: 'delete'; readonly key: string; readonly modRevision: number };

/** Items of a watch, in order. Events of one revision are in operation order and always in the same item. */
export type WatchItem =
  /** `revision` is the revision of the last event. Everything up to it has been delivered. */
  | { readonly kind: 'events'; readonly events: readonly WatchedEvent[]; readonly revision: number }
  /** Everything up to `revision` has been delivered. */
  | { readonly kind: 'progress'; readonly revision: number }
  /** The watch needs history below `compactRevision`, which is compacted. It ends after this item. */
  | { readonly kind: 'compacted'; readonly compactRevision: number };

/** The keys of a watch and its first revision. */
export interface WatchRequest {
  readonly key: string;
  readonly rangeEnd?: string;
  /** First revision to deliver; above 0. */
  readonly startRevision: number;
}

/** A watch that reconnects without gaps or repeats. Ends when aborted. Throws only errors that a retry cannot fix. */
export interface Watch extends AsyncIterable<WatchItem> {
  /** Requests a progress item. */
  requestProgress(): void;
}

/** Opens watches. */
export interface Watcher {
  watch(request: WatchRequest, signal: AbortSignal): Watch;
}

/** A lease as etcd granted it. */
export interface Lease {
  readonly id: string;
  /** Granted by etcd; may be more than was requested. */
  readonly ttlMs: number;
  /**
   * The term of etcd's own leader, which each election of one makes greater. A member that has to wait for a leader before it renews states the
   * term that it knew before.
   */
  readonly raftTerm: number;
}

/** Grants, renews and revokes leases. */
export interface Leases {
  grant(ttlMs: number, options: CallOptions): Promise<Lease>;
  /** Renews once. EtcdError 'lease-gone' when the lease has expired or was revoked. */
  keepAlive(id: string, options: CallOptions): Promise<Lease>;
  /** Deletes the lease and its keys. A missing lease is not an error. */
  revoke(id: string, options: CallOptions): Promise<void>;
}

/** The status of one member. */
export interface MemberStatus {
  readonly member: string;
  readonly version: string;
  readonly memberId: string;
  readonly leaderId: string;
  readonly revision: number;
  /** The term of Raft, and the last entries of its log that this member has committed and applied. */
  readonly raftTerm: number;
  readonly raftIndex: number;
  readonly raftAppliedIndex: number;
  readonly dbSizeBytes: number;
  readonly dbSizeInUseBytes: number;
  readonly alarms: readonly string[];
}

/** A part of a member's state, as `etcdctl snapshot save` writes it. */
export interface SnapshotPart {
  readonly bytes: Uint8Array;
  /** Bytes of the state that follow this part. Its checksum, in the last part, is not among them. */
  readonly remainingBytes: number;
}

/** Maintenance of the members. `compact` and `disarm` try one member after the other until one responds. */
export interface Maintenance {
  status(options: CallOptions): Promise<MemberStatus>;
  /**
   * Forgets history below `revision`. The members remove it from their files later. With `member` in the options, that member has removed
   * it when the call ends. For a revision that is compacted already, the call resolves at once.
   */
  compact(revision: number, options: CallOptions): Promise<void>;
  /** Releases free pages of one member's file. The member does not respond until that is done. */
  defragment(options: CallOptions): Promise<void>;
  /** Reads the whole state of one member in order. The last 32 bytes are the SHA-256 of all others. */
  snapshot(options: CallOptions): AsyncIterable<SnapshotPart>;
  /** Clears NOSPACE alarms. */
  disarm(options: CallOptions): Promise<void>;
}

/** A user (a certificate's common name) and its permissions. */
export interface AccessRule {
  readonly user: string;
  readonly permissions: readonly {
    readonly access: 'read' | 'write' | 'readwrite';
    readonly key: string;
    readonly rangeEnd?: string;
  }[];
}

/** etcd's users and their permissions. */
export interface AccessControl {
  /** Creates users, roles, permissions and a `root` user, and enables authentication. Idempotent, also for concurrent calls. */
  ensure(rules: readonly AccessRule[], options: CallOptions): Promise<void>;
}

/** A connection to a cluster. */
export interface Etcd extends AsyncDisposable {
  /** Number of members. */
  readonly memberCount: number;
  readonly kv: KeyValueStore;
  readonly watcher: Watcher;
  readonly leases: Leases;
  readonly maintenance: Maintenance;
  readonly access: AccessControl;
}

/** Exclusive end of the range of all keys that start with `prefix`. */
export function prefixEnd(prefix: string): string {
  const last = prefix.charCodeAt(prefix.length - 1);
  return prefix.slice(0, -1) + String.fromCharCode(last + 1);
}
