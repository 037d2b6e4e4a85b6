import { anySignal, type Clock, errorMessage, type NewUid, raceAbort, type Random } from '@gantry/base';
import {
  type Etcd,
  EtcdError,
  prefixEnd,
  type RangeRequest,
  type RangeResult,
  type WatchedEvent,
  type WatchItem,
} from '@gantry/etcd';
import { CommitLane } from './commit-lane.ts';
import { CurrentRevision } from './current-revision.ts';
import { GROUP_LIMITS, type GroupLimits } from './group.ts';
import { GroupCommit, storeErrorOf } from './group-commit.ts';
import { INCARNATION_KEY, laneKeyOf, REGISTRY, resourceRootOf, versionOf } from './keys.ts';
import {
  type GuardedWrite,
  type ObjectStore,
  type StoredObject,
  StoreError,
  type StoreEvent,
  type StorePage,
  type StoreWatchItem,
  type WriteOutcome,
} from './object-store.ts';
import type { Sealing } from './sealing.ts';
import { readStored } from './envelope.ts';

/** Converts an etcd watch item. The item has complete revisions, so that deletions can be numbered. */
function toStoreItem(item: WatchItem, sealing: Sealing): StoreWatchItem {
  if (item.kind !== 'events') return item;
  return { kind: 'events', events: toStoreEvents(item.events, sealing), revision: item.revision };
}

/** Converts events. The index of a deletion is one more than that of the previous event of its resource in the revision. */
function toStoreEvents(events: readonly WatchedEvent[], sealing: Sealing): readonly StoreEvent[] {
  let revision = 0;
  const lastIndex = new Map<string, number>();
  return events.map((event): StoreEvent => {
    const at = event.kind === 'put' ? event.kv.modRevision : event.modRevision;
    if (at !== revision) {
      revision = at;
      lastIndex.clear();
    }
    if (event.kind === 'delete') {
      const root = resourceRootOf(event.key);
      const index = (lastIndex.get(root) ?? -1) + 1;
      lastIndex.set(root, index);
      return { kind: 'delete', key: event.key, resourceVersion: versionOf(at, index) };
    }
    const stored = readStored(event.kv, sealing);
    lastIndex.set(resourceRootOf(stored.key), stored.resourceVersion - versionOf(at, 0));
    return { kind: 'put', ...stored, created: event.kv.createRevision === at };
  });
}

/** The part of etcd that the store uses. The in-memory model implements it as well. */
export type StoreEtcd = Pick<Etcd, 'memberCount' | 'kv' | 'watcher'>;

export interface EtcdObjectStoreOptions {
  readonly etcd: StoreEtcd;
  readonly clock: Clock;
  readonly random: Random;
  readonly newUid: NewUid;
  /** The encryption of objects in etcd. */
  readonly sealing: Sealing;
  /** Unique per process, and part of the keys of its commit lanes. Defaults to a new uid. */
  readonly process?: string;
  /** Number of lanes, 2 to 4. Defaults to one per member. */
  readonly lanes?: number;
  /** Timeout of one attempt. After it, a write is sent again as the identical group, and a read uses another member. */
  readonly attemptTimeoutMs?: number;
  readonly limits?: Partial<GroupLimits>;
  /** Called with the reason when a group is sent again. */
  readonly onRetry?: (why: string) => void;
  /** Conditions that a test omits, to prove that they are needed. Only tests may set it. */
  readonly leaveOutForTest?: readonly ('fence' | 'lane')[];
}

/** A store in etcd. `close` waits for running writes until `now` is aborted. */
export interface ClosableObjectStore extends ObjectStore {
  close(now: AbortSignal): Promise<void>;
  /** Rejects writes that have waited for as long for etcd: 'unavailable' if they were not sent, 'outcome-unknown' otherwise. */
  giveUpWrites(waitedMs: number): void;
  /** Rejects all reads that wait for etcd, with 'unavailable'. */
  giveUpReads(): void;
}

const PAGE_SIZE = 1000;
const DEFAULT_ATTEMPT_TIMEOUT_MS = 2000;
const NO_ANSWER = 'etcd did not answer';

/** Creates a store in etcd: group commit over commit lanes, consistent pages, one watch of all objects. */
export function createEtcdObjectStore(options: EtcdObjectStoreOptions): ClosableObjectStore {
  return new EtcdObjectStore(options);
}

class EtcdObjectStore implements ClosableObjectStore {
  readonly #etcd: StoreEtcd;
  readonly #sealing: Sealing;
  readonly #timeoutMs: number;
  readonly #commit: GroupCommit;
  readonly #current: CurrentRevision;
  readonly #watches = new Set<{ requestProgress(): void }>();
  readonly #closed = new AbortController();
  /** The reads that wait now. */
  #reads = new AbortController();

  constructor(options: EtcdObjectStoreOptions) {
    this.#etcd = options.etcd;
    this.#sealing = options.sealing;
    this.#timeoutMs = options.attemptTimeoutMs ?? DEFAULT_ATTEMPT_TIMEOUT_MS;
    this.#commit = new GroupCommit(
      createLanes(options),
      { ...GROUP_LIMITS, ...options.limits },
      writeIds(options.newUid),
      options.clock,
    );
    this.#current = new CurrentRevision(options.clock, async () => {
      const request = { key: INCARNATION_KEY, fields: 'count' } as const;
      return (await this.#range(request, this.#closed.signal)).revision;
    });
  }

  async get(key: string, signal: AbortSignal): Promise<StoredObject | null> {
    const kv = (await this.#range({ key }, signal)).kvs[0];
    return kv === undefined ? null : readStored(kv, this.#sealing);
  }

  async list(
    prefix: string,
    options: { revision?: number; limit?: number; startKey?: string },
    signal: AbortSignal,
  ): Promise<StorePage> {
    const rangeEnd = prefixEnd(prefix);
    const wanted = options.limit ?? Number.POSITIVE_INFINITY;
    const objects: StoredObject[] = [];
    let revision = options.revision;
    let key = options.startKey ?? prefix;
    for (;;) {
      const limit = Math.min(PAGE_SIZE, wanted - objects.length);
      const page = await this.#range({ key, rangeEnd, limit, revision }, signal);
      revision ??= page.revision;
      for (const kv of page.kvs) objects.push(readStored(kv, this.#sealing));
      const remaining = page.count - page.kvs.length;
      const last = page.kvs.at(-1);
      if (remaining <= 0 || last === undefined) return { revision, objects, next: undefined, remaining: 0 };
      key = `${last.key}\0`;
      if (objects.length >= wanted) return { revision, objects, next: key, remaining };
    }
  }

  currentRevision(signal: AbortSignal): Promise<number> {
    return this.#current.get(signal);
  }

  write(write: GuardedWrite, signal: AbortSignal): Promise<WriteOutcome> {
    return this.#commit.write(write, signal);
  }

  async *watch(revision: number, signal: AbortSignal): AsyncGenerator<StoreWatchItem> {
    const request = { key: REGISTRY, rangeEnd: prefixEnd(REGISTRY), startRevision: revision + 1 };
    using either = anySignal(signal, this.#closed.signal);
    const watch = this.#etcd.watcher.watch(request, either);
    this.#watches.add(watch);
    try {
      for await (const item of watch) yield toStoreItem(item, this.#sealing);
    } catch (error) {
      throw asStoreError(error);
    } finally {
      this.#watches.delete(watch);
    }
  }

  requestProgress(): void {
    for (const watch of this.#watches) watch.requestProgress();
  }

  giveUpWrites(waitedMs: number): void {
    this.#commit.giveUp(waitedMs, NO_ANSWER);
  }

  giveUpReads(): void {
    const waiting = this.#reads;
    this.#reads = new AbortController();
    waiting.abort(new StoreError('unavailable', NO_ANSWER));
  }

  async close(now: AbortSignal): Promise<void> {
    await this.#commit.close(now);
    this.#closed.abort(new StoreError('unavailable', 'the store was closed'));
  }

  async #range(request: RangeRequest, signal: AbortSignal): Promise<RangeResult> {
    try {
      const answer = this.#etcd.kv.range(request, { signal, timeoutMs: this.#timeoutMs });
      return await raceAbort(answer, this.#reads.signal);
    } catch (error) {
      throw asStoreError(error);
    }
  }
}

function createLanes(options: EtcdObjectStoreOptions): readonly CommitLane[] {
  const process = options.process ?? options.newUid();
  const count = options.lanes ?? Math.min(4, Math.max(2, options.etcd.memberCount));
  const leftOut = options.leaveOutForTest ?? [];
  return Array.from(
    { length: count },
    (_, index) =>
      new CommitLane({
        kv: options.etcd.kv,
        clock: options.clock,
        random: options.random,
        key: laneKeyOf(process, index),
        owner: options.newUid(),
        member: index,
        attemptTimeoutMs: options.attemptTimeoutMs ?? DEFAULT_ATTEMPT_TIMEOUT_MS,
        guard: { sealing: options.sealing, fence: leftOut.includes('fence') ? 'left-out-by-test' : 'compared' },
        laneCompare: leftOut.includes('lane') ? 'left-out-by-test' : 'compared',
        onRetry: options.onRetry ?? (() => {}),
      }),
  );
}

/** Creates unique write ids: eight bytes of a uid of this store, and a counter. */
function writeIds(newUid: NewUid): () => Uint8Array {
  const own = Buffer.from(newUid().replaceAll('-', ''), 'hex').subarray(0, 8);
  let count = 0;
  return () => {
    const id = Buffer.alloc(16);
    id.set(own, 0);
    count += 1;
    id.writeUIntBE(count, 10, 6);
    return id;
  };
}

function asStoreError(error: unknown): Error {
  if (error instanceof EtcdError) return storeErrorOf(error);
  return error instanceof Error ? error : new StoreError('unavailable', errorMessage(error));
}
