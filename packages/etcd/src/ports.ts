/** What every call may be given. Without `member` a call goes to a member that works; reads then try the others by themselves. */
export interface CallOptions {
  readonly signal: AbortSignal;
  /** Time for one attempt at one member. */
  readonly timeoutMs?: number;
  /** Index of the member to ask, modulo the number of members; asked alone, no other is tried. */
  readonly member?: number;
}

/** A key as etcd holds it. Revisions are numbers: safe up to 2^53. */
export interface KeyValue {
  readonly key: string;
  readonly value: Uint8Array;
  readonly createRevision: number;
  readonly modRevision: number;
  /** Hexadecimal-free decimal id of the lease, '0' for none. */
  readonly lease: string;
}

export interface RangeRequest {
  readonly key: string;
  /** Exclusive end; absent for the key alone. `prefixEnd(prefix)` for all keys under a prefix. */
  readonly rangeEnd?: string;
  /** A past revision; now when absent. */
  readonly revision?: number;
  readonly limit?: number;
  readonly fields?: 'all' | 'keys' | 'count';
}

export interface RangeResult {
  /** Revision of the cluster when the question was answered, not that of a historical read. */
  readonly revision: number;
  readonly kvs: readonly KeyValue[];
  /** All keys in the range, whatever the limit. */
  readonly count: number;
}

/** A condition. A key that does not exist has revisions 0 and no value: a `value` compare with it never holds. */
export type Compare =
  | { readonly key: string; readonly target: 'create-revision' | 'mod-revision'; readonly equals: number }
  | { readonly key: string; readonly target: 'value'; readonly equals: Uint8Array }
  | { readonly key: string; readonly target: 'exists' };

export type Operation =
  | { readonly kind: 'put'; readonly key: string; readonly value: Uint8Array; readonly lease?: string }
  | { readonly kind: 'delete'; readonly key: string }
  | ({ readonly kind: 'range' } & RangeRequest)
  | ({ readonly kind: 'transaction' } & Transaction);

/**
 * All compares, nested ones included, see the state before the outer transaction; operations run in order, in one revision.
 * An error anywhere (a key put twice even in a branch not taken, a lease that is gone) fails the whole.
 */
export interface Transaction {
  readonly compare: readonly Compare[];
  readonly success: readonly Operation[];
  readonly failure: readonly Operation[];
}

export type OperationResult =
  | { readonly kind: 'put' }
  | { readonly kind: 'delete'; readonly deleted: number }
  | { readonly kind: 'range'; readonly kvs: readonly KeyValue[] }
  | { readonly kind: 'transaction'; readonly succeeded: boolean; readonly results: readonly OperationResult[] };

export interface TransactionResult {
  /** The transaction's own revision when it wrote something. */
  readonly revision: number;
  readonly succeeded: boolean;
  readonly results: readonly OperationResult[];
}

/** Reads and guarded writes. Linearizable. */
export interface KeyValueStore {
  range(request: RangeRequest, options: CallOptions): Promise<RangeResult>;
  /** Never retried: EtcdError 'outcome-unknown' means that it may have landed, or may land later. */
  transact(transaction: Transaction, options: CallOptions): Promise<TransactionResult>;
}

export type WatchedEvent =
  | { readonly kind: 'put'; readonly kv: KeyValue }
  | { readonly kind: 'delete'; readonly key: string; readonly modRevision: number };

/** Elements of a watch, in order. Events of one revision come in operation order and are never split over two items. */
export type WatchItem =
  /** `revision` is that of the last event: everything up to it has been delivered. */
  | { readonly kind: 'events'; readonly events: readonly WatchedEvent[]; readonly revision: number }
  /** Nothing up to `revision` is missing. */
  | { readonly kind: 'progress'; readonly revision: number }
  /** History below `compactRevision` is gone, and it was needed. The watch ends after it. */
  | { readonly kind: 'compacted'; readonly compactRevision: number };

export interface WatchRequest {
  readonly key: string;
  readonly rangeEnd?: string;
  /** First revision to deliver; above 0. */
  readonly startRevision: number;
}

/** A watch that reconnects by itself without gaps or repeats. Ends when aborted; fails only by what a retry cannot cure. */
export interface Watch extends AsyncIterable<WatchItem> {
  /** Asks for a progress item soon. */
  requestProgress(): void;
}

export interface Watcher {
  watch(request: WatchRequest, signal: AbortSignal): Watch;
}

export interface Lease {
  readonly id: string;
  /** What etcd granted, which may be more than was asked for. */
  readonly ttlMs: number;
}

export interface Leases {
  grant(ttlMs: number, options: CallOptions): Promise<Lease>;
  /** Renews once. EtcdError 'lease-gone' when the lease has run out or was revoked. */
  keepAlive(id: string, options: CallOptions): Promise<Lease>;
  /** Deletes the lease and its keys. A lease that is gone is no error. */
  revoke(id: string, options: CallOptions): Promise<void>;
}

export interface MemberStatus {
  readonly member: string;
  readonly version: string;
  readonly memberId: string;
  readonly leaderId: string;
  readonly revision: number;
  readonly dbSizeBytes: number;
  readonly dbSizeInUseBytes: number;
  readonly alarms: readonly string[];
}

/** Care of the members. */
export interface Maintenance {
  status(options: CallOptions): Promise<MemberStatus>;
  /** Forgets history below `revision`. One that is compacted already is no error. */
  compact(revision: number, options: CallOptions): Promise<void>;
  /** Gives free pages of one member's file back; the member answers nothing meanwhile. */
  defragment(options: CallOptions): Promise<void>;
  /** Clears NOSPACE alarms. */
  disarm(options: CallOptions): Promise<void>;
}

/** A user (a certificate's common name) and what it may do. */
export interface AccessRule {
  readonly user: string;
  readonly permissions: readonly {
    readonly access: 'read' | 'write' | 'readwrite';
    readonly key: string;
    readonly rangeEnd?: string;
  }[];
}

export interface AccessControl {
  /** Makes users, roles and permissions, a `root` user, and switches authentication on. Idempotent; two may do it at once. */
  ensure(rules: readonly AccessRule[], options: CallOptions): Promise<void>;
}

/** A connection to a cluster. */
export interface Etcd extends AsyncDisposable {
  /** How many members it knows. */
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
