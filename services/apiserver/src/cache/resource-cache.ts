import { type KubeObject, StatusError } from '@gantry/objects';
import type { Instant } from '@gantry/base';
import type { EncodeProtobuf, WatchItem } from './object-response.ts';
import type { ResourceVersion, StoreEvent } from '../storage/object-store.ts';
import { type CachedEntry, createEntry, type Entry, entryAt } from './entry.ts';
import { type CacheEvent, EventRing, type RingLimits } from './event-ring.ts';
import { type Filter, STORED_VIEW, type View } from './view.ts';
import type { RetainedBytes } from './retained-bytes.ts';
import { listVersion } from './object-keys.ts';
import { prefixBounds, SortedEntries } from './sorted-entries.ts';
import { Deliveries, itemFor, Watcher } from './watcher.ts';

export interface ResourceCacheOptions {
  /** The node name of an object, for resources that are indexed by node; undefined for other resources. */
  readonly nodeNameOf: ((object: KubeObject) => string) | undefined;
  readonly ring: RingLimits;
  /** The maximum number of queued items of a watch. A watch with more items is closed. */
  readonly maxQueued: number;
  readonly encode: EncodeProtobuf;
  readonly retained: RetainedBytes;
}

/** Size of the cache of a resource. Bytes count the stored form. */
export interface CacheStatistics {
  readonly objects: number;
  readonly bytes: number;
  /** Recent events, from which watches can resume, and the bytes of their objects. */
  readonly events: number;
  readonly eventBytes: number;
  readonly watches: number;
}

/** Maximum number of snapshots that are kept for paged lists. */
const REMEMBERED = 4;

/** How a watch begins. */
export type WatchStart =
  /** All existing objects as ADDED, then the events that follow. */
  | { readonly kind: 'state'; readonly endBookmark: boolean }
  /** Only the events after this version. */
  | { readonly kind: 'after'; readonly resourceVersion: ResourceVersion };

/** Objects, recent events and open watches of one resource, fed by the watch cache. */
export class ResourceCache {
  readonly prefix: string;
  readonly #options: ResourceCacheOptions;
  readonly #entries = new Map<string, CachedEntry>();
  readonly #listeners = new Set<() => void>();
  readonly #sorted = new SortedEntries();
  readonly #byNode = new Map<string, Set<string>>();
  /** Open watches by namespace or node; '' for those without either. */
  readonly #watchers = new Map<string, Set<Watcher>>();
  readonly #deliveries = new Deliveries();
  #ring: EventRing;
  #lastChange = 0;
  #bytes = 0;
  /** Snapshots for the next pages of lists, oldest first. */
  readonly #remembered: { readonly revision: number; readonly entries: readonly Entry[] }[] = [];

  constructor(prefix: string, options: ResourceCacheOptions) {
    this.prefix = prefix;
    this.#options = options;
    this.#ring = new EventRing(options.ring, 0);
  }

  /** Version of the newest change of this resource. The current snapshot is valid from this version on. */
  get lastChange(): ResourceVersion {
    return this.#lastChange;
  }

  /** Number of objects. */
  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  /** Calls `listener` after every change, before watchers receive it. The returned function unsubscribes. */
  observe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** All current entries in key order. The returned array never changes. */
  snapshot(): readonly Entry[] {
    return this.#sorted.snapshot();
  }

  /** Keeps the snapshot that is valid at `revision` for the next pages of a list. */
  remember(revision: number, entries: readonly Entry[]): void {
    if (this.remembered(revision) !== undefined) return;
    this.#remembered.push({ revision, entries });
    if (this.#remembered.length > REMEMBERED) this.#remembered.shift();
  }

  /** The snapshot of `revision`; undefined if it is not kept any more. */
  remembered(revision: number): readonly Entry[] | undefined {
    return this.#remembered.find((one) => one.revision === revision)?.entries;
  }

  /** The entries that a filter may match, in key order. The caller must still apply the filter. */
  candidates(filter: Filter): readonly Entry[] {
    if (filter.key !== undefined) {
      const found = this.#entries.get(filter.key);
      return found === undefined ? [] : [found];
    }
    if (filter.nodeName !== undefined && this.#options.nodeNameOf !== undefined) {
      const keys = [...(this.#byNode.get(filter.nodeName) ?? [])].sort();
      return keys.flatMap((key) => this.#entries.get(key) ?? []);
    }
    const entries = this.snapshot();
    if (filter.namespace === '') return entries;
    return entries.slice(...prefixBounds(entries, `${this.prefix}${filter.namespace}/`));
  }

  /** Replaces all objects by the list of `revision`. Closes all watches; their clients resume or list again. */
  reset(entries: CachedEntry[], revision: number): void {
    this.#entries.clear();
    this.#byNode.clear();
    this.#bytes = 0;
    for (const entry of entries) {
      this.#bytes += entry.bytes;
      this.#entries.set(entry.key, entry);
      this.#indexNode(undefined, entry);
    }
    this.#sorted.replace(entries);
    this.#remembered.length = 0;
    this.#lastChange = listVersion(revision);
    this.#ring = new EventRing(this.#options.ring, this.#lastChange);
    for (const listener of this.#listeners) listener();
    for (const watcher of [...this.#allWatchers()]) watcher.close('cache-reset');
  }

  /** Applies one event of the store and passes it to the watches. */
  apply(event: StoreEvent, now: Instant): void {
    const old = this.#entries.get(event.key);
    if (event.resourceVersion <= this.#lastChange) return;
    this.#lastChange = event.resourceVersion;
    if (event.kind === 'delete' && old === undefined) return;
    const { encode, retained } = this.#options;
    const current = event.kind === 'put' ? createEntry(event, encode, retained) : undefined;
    const gone = () => (old === undefined ? undefined : entryAt(old, event.resourceVersion, encode, retained));
    if (current === undefined) {
      this.#entries.delete(event.key);
      this.#sorted.delete(event.key);
    } else {
      this.#entries.set(event.key, current);
      this.#sorted.set(current);
    }
    this.#bytes += (current?.bytes ?? 0) - (old?.bytes ?? 0);
    this.#indexNode(old, current);
    const { resourceVersion } = event;
    const bytes = (current?.bytes ?? 0) + (old?.bytes ?? 0);
    const change: CacheEvent = { resourceVersion, at: now, old, current, bytes, gone, items: {} };
    this.#ring.push(change);
    for (const listener of this.#listeners) listener();
    this.#tell(change);
  }

  /** Opens a watch of one version. `revision` is the revision that the cache has reached. */
  watch(
    start: WatchStart,
    filter: Filter,
    options: { readonly bookmarks: boolean; readonly revision: number; readonly view?: View },
  ): Watcher {
    const view = options.view ?? STORED_VIEW;
    const now = listVersion(options.revision);
    const after = start.kind === 'state' ? now : start.resourceVersion;
    const first =
      start.kind === 'state'
        ? this.#initialItems(filter, start.endBookmark, now, view)
        : this.#missedItems(filter, after, view);
    const bucket = bucketOf(filter, this.#options.nodeNameOf !== undefined);
    const watcher = new Watcher({
      filter,
      view,
      bookmarks: options.bookmarks,
      after,
      maxQueued: this.#options.maxQueued,
      deliveries: this.#deliveries,
      onClose: (closed) => this.#forget(bucket, closed),
    });
    watcher.begin(first);
    const set = this.#watchers.get(bucket) ?? new Set();
    set.add(watcher);
    this.#watchers.set(bucket, set);
    return watcher;
  }

  /** Sends a bookmark to the watches that asked for bookmarks. */
  bookmark(revision: number): void {
    const reached = listVersion(revision);
    for (const watcher of this.#allWatchers()) if (watcher.bookmarks) watcher.bookmark(reached);
  }

  /** The size of this cache. */
  statistics(): CacheStatistics {
    const { size: events, bytes: eventBytes } = this.#ring;
    return { objects: this.#entries.size, bytes: this.#bytes, events, eventBytes, watches: this.watcherCount() };
  }

  watcherCount(): number {
    let count = 0;
    for (const set of this.#watchers.values()) count += set.size;
    return count;
  }

  /** Closes all watches, because the process stops. */
  close(): void {
    for (const watcher of [...this.#allWatchers()]) watcher.close('stopped');
  }

  #initialItems(filter: Filter, endBookmark: boolean, now: ResourceVersion, view: View): readonly WatchItem[] {
    const items: WatchItem[] = [];
    for (const stored of this.candidates(filter)) {
      const { response } = view.entry(stored);
      if (filter.matches(response.object)) items.push({ type: 'ADDED', response });
    }
    if (endBookmark) items.push({ type: 'BOOKMARK', resourceVersion: now, initialEventsEnd: true });
    return items;
  }

  #missedItems(filter: Filter, version: ResourceVersion, view: View): readonly WatchItem[] {
    if (version < this.#ring.floor) {
      throw StatusError.expired(`too old resource version: ${version} (${this.#ring.floor})`);
    }
    return this.#ring.after(version).flatMap((event) => itemFor(view.event(event), filter) ?? []);
  }

  #tell(change: CacheEvent): void {
    const object = (change.current ?? change.old)?.response.object;
    if (object === undefined) return;
    this.#offer('', change);
    const namespace = object.metadata.namespace;
    if (namespace !== undefined) this.#offer(`namespace:${namespace}`, change);
    if (this.#options.nodeNameOf === undefined) return;
    const nodes = new Set([change.old, change.current].flatMap((entry) => this.#nodeOf(entry) ?? []));
    for (const node of nodes) this.#offer(`node:${node}`, change);
  }

  #offer(bucket: string, change: CacheEvent): void {
    const watchers = this.#watchers.get(bucket);
    if (watchers === undefined) return;
    for (const watcher of watchers) watcher.offer(change);
  }

  #nodeOf(entry: Entry | undefined): string | undefined {
    return entry === undefined ? undefined : this.#options.nodeNameOf?.(entry.response.object);
  }

  #indexNode(old: Entry | undefined, current: Entry | undefined): void {
    const before = this.#nodeOf(old);
    const after = this.#nodeOf(current);
    if (before === after) return;
    if (before !== undefined && old !== undefined) {
      const keys = this.#byNode.get(before);
      keys?.delete(old.key);
      if (keys?.size === 0) this.#byNode.delete(before);
    }
    if (after !== undefined && current !== undefined) {
      const keys = this.#byNode.get(after) ?? new Set();
      keys.add(current.key);
      this.#byNode.set(after, keys);
    }
  }

  *#allWatchers(): Iterable<Watcher> {
    for (const set of this.#watchers.values()) yield* set;
  }

  #forget(bucket: string, watcher: Watcher): void {
    const set = this.#watchers.get(bucket);
    set?.delete(watcher);
    if (set?.size === 0) this.#watchers.delete(bucket);
  }
}

function bucketOf(filter: Filter, hasNodeIndex: boolean): string {
  if (filter.nodeName !== undefined && hasNodeIndex) return `node:${filter.nodeName}`;
  return filter.namespace === '' ? '' : `namespace:${filter.namespace}`;
}
