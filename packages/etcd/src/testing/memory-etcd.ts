import { raceAbort } from '@gantry/base';
import { EtcdError } from '../etcd-error.ts';
import type {
  CallOptions,
  Compare,
  KeyValue,
  KeyValueStore,
  Lease,
  Leases,
  Operation,
  OperationResult,
  RangeRequest,
  RangeResult,
  Transaction,
  TransactionResult,
  Watch,
  WatchedEvent,
  Watcher,
  WatchItem,
  WatchRequest,
} from '../ports.ts';

/** A fault for the next transaction that matches. */
export type TransactionFault =
  /** The transaction is applied, but its response is lost. */
  | { readonly kind: 'answer-lost' }
  /** The sender gives up. The transaction is applied when `land` is called, however late. */
  | { readonly kind: 'late'; readonly held: (land: () => TransactionResult | EtcdError) => void }
  /** The whole transaction fails. */
  | { readonly kind: 'error'; readonly error: EtcdError };

interface Version {
  readonly modRevision: number;
  readonly createRevision: number;
  readonly lease: string;
  /** Null for a deletion. */
  readonly value: Uint8Array | null;
}

interface OpenWatch {
  readonly request: WatchRequest;
  next: number;
  wake: () => void;
  progress: 'none' | 'asked';
  gone: number | undefined;
}

/**
 * An in-memory model of etcd: revisions and history, compares before operations, nested transactions, errors of whole transactions, leases,
 * compaction. It can inject faults: lost responses, writes that are applied late, silent watches.
 */
export class MemoryEtcd implements KeyValueStore, Watcher, Leases {
  readonly memberCount = 3;
  #revision = 1;
  #compacted = 0;
  #leaseCounter = 0;
  #raftTerm = 2;
  #watches: 'live' | 'silent' = 'live';
  readonly #keys = new Map<string, Version[]>();
  #sorted: string[] | undefined;
  readonly #history: { readonly revision: number; readonly events: readonly WatchedEvent[] }[] = [];
  readonly #open = new Set<OpenWatch>();
  /** Times to live of leases by their ids. */
  readonly #leases = new Map<string, number>();
  readonly #faults: { matches: (transaction: Transaction) => boolean; fault: TransactionFault }[] = [];

  get kv(): KeyValueStore {
    return this;
  }

  get watcher(): Watcher {
    return this;
  }

  get leases(): Leases {
    return this;
  }

  /** The newest revision. */
  get revision(): number {
    return this.#revision;
  }

  /** Injects a fault into the next transaction that `matches`, once. */
  injectFault(fault: TransactionFault, matches: (transaction: Transaction) => boolean = () => true): void {
    this.#faults.push({ matches, fault });
  }

  /** Open watches deliver nothing and do not respond to progress requests until they are resumed. */
  silenceWatches(): void {
    this.#watches = 'silent';
  }

  resumeWatches(): void {
    this.#watches = 'live';
    for (const watch of this.#open) watch.wake();
  }

  /** Forgets history below `revision`. Watches that have not reached it end. */
  compactHistory(revision: number): void {
    this.#compacted = revision;
    while (this.#history[0] !== undefined && this.#history[0].revision < revision) this.#history.shift();
    for (const [key, versions] of this.#keys) {
      const last = versions.findLastIndex((version) => version.modRevision <= revision);
      const kept = versions.slice(Math.max(0, last));
      if (kept[0]?.value === null && kept[0].modRevision < revision) kept.shift();
      if (kept.length === 0) {
        this.#keys.delete(key);
        this.#sorted = undefined;
      } else this.#keys.set(key, kept);
    }
    for (const watch of this.#open) {
      if (watch.next < revision) {
        watch.gone = revision;
        watch.wake();
      }
    }
  }

  async range(request: RangeRequest, options: CallOptions): Promise<RangeResult> {
    return raceAbort(
      soon().then(() => this.#range(request)),
      options.signal,
    );
  }

  async transact(transaction: Transaction, options: CallOptions): Promise<TransactionResult> {
    const index = this.#faults.findIndex((fault) => fault.matches(transaction));
    const fault = index < 0 ? undefined : this.#faults.splice(index, 1)[0]?.fault;
    await raceAbort(soon(), options.signal);
    switch (fault?.kind) {
      case undefined:
        return this.#transact(transaction);
      case 'error':
        throw fault.error;
      case 'answer-lost':
        this.#transact(transaction);
        throw new EtcdError('outcome-unknown', 'the answer was lost');
      case 'late':
        fault.held(() => {
          try {
            return this.#transact(transaction);
          } catch (error) {
            if (error instanceof EtcdError) return error;
            throw error;
          }
        });
        throw new EtcdError('outcome-unknown', 'no answer yet');
    }
  }

  watch(request: WatchRequest, signal: AbortSignal): Watch {
    const state: OpenWatch = {
      request,
      next: request.startRevision,
      wake: () => {},
      progress: 'none',
      gone: undefined,
    };
    if (request.startRevision < this.#compacted) state.gone = this.#compacted;
    this.#open.add(state);
    return {
      requestProgress: () => {
        state.progress = 'asked';
        state.wake();
      },
      [Symbol.asyncIterator]: () => this.#deliver(state, signal),
    };
  }

  async grant(ttlMs: number, options: CallOptions): Promise<Lease> {
    await raceAbort(soon(), options.signal);
    this.#leaseCounter += 1;
    const id = String(this.#leaseCounter);
    this.#leases.set(id, ttlMs);
    return { id, ttlMs, raftTerm: this.#raftTerm };
  }

  async keepAlive(id: string, options: CallOptions): Promise<Lease> {
    await raceAbort(soon(), options.signal);
    const ttlMs = this.#leases.get(id);
    if (ttlMs === undefined) throw new EtcdError('lease-gone', `lease ${id}`);
    return { id, ttlMs, raftTerm: this.#raftTerm };
  }

  async revoke(id: string, options: CallOptions): Promise<void> {
    await raceAbort(soon(), options.signal);
    this.expire(id);
  }

  /** The members have elected another leader. */
  electLeader(): void {
    this.#raftTerm += 1;
  }

  /** Expires a lease. */
  expire(id: string): void {
    if (!this.#leases.delete(id)) return;
    const keys = [...this.#keys].filter(([, versions]) => isLive(versions.at(-1)) && versions.at(-1)?.lease === id);
    if (keys.length > 0) {
      this.#transact({ compare: [], success: keys.map(([key]) => ({ kind: 'delete', key })), failure: [] });
    }
  }

  async *#deliver(state: OpenWatch, signal: AbortSignal): AsyncIterator<WatchItem> & AsyncGenerator<WatchItem> {
    const onAbort = () => state.wake();
    signal.addEventListener('abort', onAbort);
    try {
      for (;;) {
        if (signal.aborted) return;
        if (state.gone !== undefined) {
          yield { kind: 'compacted', compactRevision: state.gone };
          return;
        }
        const item = this.#watches === 'live' ? this.#nextItem(state) : undefined;
        if (item !== undefined) yield item;
        else {
          await new Promise<void>((resolve) => {
            state.wake = resolve;
          });
        }
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#open.delete(state);
    }
  }

  #nextItem(state: OpenWatch): WatchItem | undefined {
    const events: WatchedEvent[] = [];
    const start = lowerBound(this.#history, state.next);
    for (let i = start; i < this.#history.length; i++) {
      for (const event of this.#history[i]?.events ?? []) {
        if (inRange(state.request, event.kind === 'put' ? event.kv.key : event.key)) events.push(event);
      }
    }
    state.next = this.#revision + 1;
    const last = events.at(-1);
    if (last !== undefined) {
      return { kind: 'events', events, revision: last.kind === 'put' ? last.kv.modRevision : last.modRevision };
    }
    if (state.progress === 'none') return undefined;
    state.progress = 'none';
    return { kind: 'progress', revision: this.#revision };
  }

  #range(request: RangeRequest, now = this.#revision): RangeResult {
    const at = request.revision ?? now;
    if (at > now) throw new EtcdError('future-revision', `${at} is beyond ${this.#revision}`);
    if (at < this.#compacted) throw new EtcdError('compacted', `${at} is below ${this.#compacted}`);
    const all = this.#keysIn(request)
      .map((key) => toKeyValue(key, this.#versionAt(key, at)))
      .filter((kv) => kv !== undefined);
    const limited = request.limit === undefined ? all : all.slice(0, request.limit);
    const fields = request.fields ?? 'all';
    const kvs =
      fields === 'count' ? [] : fields === 'keys' ? limited.map((kv) => ({ ...kv, value: new Uint8Array() })) : limited;
    return { revision: this.#revision, kvs, count: all.length };
  }

  #keysIn(request: RangeRequest): readonly string[] {
    if (request.rangeEnd === undefined) return this.#keys.has(request.key) ? [request.key] : [];
    this.#sorted ??= [...this.#keys.keys()].sort();
    return this.#sorted.filter((key) => inRange(request, key));
  }

  #versionAt(key: string, revision: number): Version | undefined {
    return this.#keys.get(key)?.findLast((version) => version.modRevision <= revision);
  }

  #transact(transaction: Transaction): TransactionResult {
    checkKeys(transaction);
    this.#checkLeases(transaction);
    const branches = new Map<Transaction, boolean>();
    this.#compareAll(transaction, branches);
    const revision = this.#revision + 1;
    const events: WatchedEvent[] = [];
    const results = this.#apply(transaction, branches, revision, events);
    if (events.length > 0) {
      this.#revision = revision;
      this.#history.push({ revision, events });
      for (const watch of this.#open) watch.wake();
    }
    return { revision: this.#revision, succeeded: branches.get(transaction) ?? false, results };
  }

  #compareAll(transaction: Transaction, branches: Map<Transaction, boolean>): void {
    const holds = transaction.compare.every((compare) => this.#holds(compare));
    branches.set(transaction, holds);
    for (const operation of holds ? transaction.success : transaction.failure) {
      if (operation.kind === 'transaction') this.#compareAll(operation, branches);
    }
  }

  #holds(compare: Compare): boolean {
    const version = this.#keys.get(compare.key)?.at(-1);
    const live = isLive(version) ? version : undefined;
    switch (compare.target) {
      case 'create-revision':
        return (live?.createRevision ?? 0) === compare.equals;
      case 'mod-revision':
        return (live?.modRevision ?? 0) === compare.equals;
      case 'value':
        return live !== undefined && Buffer.compare(live.value, compare.equals) === 0;
      case 'exists':
        return live !== undefined;
    }
  }

  #apply(
    transaction: Transaction,
    branches: ReadonlyMap<Transaction, boolean>,
    revision: number,
    events: WatchedEvent[],
  ): readonly OperationResult[] {
    const succeeded = branches.get(transaction) ?? false;
    return (succeeded ? transaction.success : transaction.failure).map((operation): OperationResult => {
      switch (operation.kind) {
        case 'put':
          this.#put(operation, revision, events);
          return { kind: 'put' };
        case 'delete':
          return { kind: 'delete', deleted: this.#delete(operation.key, revision, events) };
        case 'range':
          return { kind: 'range', kvs: this.#range(operation, revision).kvs };
        case 'transaction':
          return {
            kind: 'transaction',
            succeeded: branches.get(operation) ?? false,
            results: this.#apply(operation, branches, revision, events),
          };
      }
    });
  }

  #put(operation: Operation & { kind: 'put' }, revision: number, events: WatchedEvent[]): void {
    const versions = this.#keys.get(operation.key) ?? [];
    const before = versions.at(-1);
    const createRevision = isLive(before) ? before.createRevision : revision;
    const version = { modRevision: revision, createRevision, lease: operation.lease ?? '0', value: operation.value };
    versions.push(version);
    if (versions.length === 1) {
      this.#keys.set(operation.key, versions);
      this.#sorted = undefined;
    }
    events.push({ kind: 'put', kv: { key: operation.key, ...version } });
  }

  #delete(key: string, revision: number, events: WatchedEvent[]): number {
    const versions = this.#keys.get(key);
    if (versions === undefined || !isLive(versions.at(-1))) return 0;
    versions.push({ modRevision: revision, createRevision: 0, lease: '0', value: null });
    events.push({ kind: 'delete', key, modRevision: revision });
    return 1;
  }

  #checkLeases(transaction: Transaction): void {
    for (const operation of [...transaction.success, ...transaction.failure]) {
      if (operation.kind === 'transaction') this.#checkLeases(operation);
      if (operation.kind === 'put' && operation.lease !== undefined && !this.#leases.has(operation.lease)) {
        throw new EtcdError('lease-gone', `lease ${operation.lease}`);
      }
    }
  }
}

function soon(): Promise<void> {
  return Promise.resolve();
}

function isLive(version: Version | undefined): version is Version & { value: Uint8Array } {
  return version !== undefined && version.value !== null;
}

function toKeyValue(key: string, version: Version | undefined): KeyValue | undefined {
  return isLive(version) ? { key, ...version } : undefined;
}

function inRange(request: { readonly key: string; readonly rangeEnd?: string }, key: string): boolean {
  return request.rangeEnd === undefined ? key === request.key : key >= request.key && key < request.rangeEnd;
}

/** First index with a revision of at least `revision`. */
function lowerBound(history: readonly { readonly revision: number }[], revision: number): number {
  let low = 0;
  let high = history.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((history[middle]?.revision ?? 0) < revision) low = middle + 1;
    else high = middle;
  }
  return low;
}

interface Touched {
  readonly puts: Set<string>;
  readonly deletes: Set<string>;
}

/**
 * The keys that a transaction may put or delete, in any branch. Throws when a key is put and also put or deleted by another operation of
 * the same list.
 */
function checkKeys(transaction: Transaction): Touched {
  const [success, failure] = [checkList(transaction.success), checkList(transaction.failure)];
  return {
    puts: new Set([...success.puts, ...failure.puts]),
    deletes: new Set([...success.deletes, ...failure.deletes]),
  };
}

function checkList(operations: readonly Operation[]): Touched {
  const all: Touched = { puts: new Set(), deletes: new Set() };
  for (const operation of operations) {
    const { puts, deletes } = keysOf(operation);
    for (const key of puts) {
      if (all.puts.has(key) || all.deletes.has(key)) throw duplicateKey();
    }
    for (const key of deletes) if (all.puts.has(key)) throw duplicateKey();
    for (const key of puts) all.puts.add(key);
    for (const key of deletes) all.deletes.add(key);
  }
  return all;
}

function keysOf(operation: Operation): Touched {
  switch (operation.kind) {
    case 'put':
      return { puts: new Set([operation.key]), deletes: new Set() };
    case 'delete':
      return { puts: new Set(), deletes: new Set([operation.key]) };
    case 'range':
      return { puts: new Set(), deletes: new Set() };
    case 'transaction':
      return checkKeys(operation);
  }
}

function duplicateKey(): EtcdError {
  return new EtcdError('invalid', 'duplicate key given in txn request');
}
