import type { ResourceDefinition } from '@gantry/apimachinery';
import type { KubeObject } from '@gantry/objects';
import { backoffMs, type BackoffOptions, type Clock, errorMessage, pause, raceAbort, type Random } from '@gantry/base';
import { type ObjectStore, StoreError, type StoreWatchItem } from '../storage/object-store.ts';
import type { EncodeProtobuf } from './object-response.ts';
import { type CachedEntry, createEntry } from './entry.ts';
import type { RingLimits } from './event-ring.ts';
import { type Keyed, REGISTRY, resourcePrefix } from './object-keys.ts';
import { type CacheStatistics, ResourceCache } from './resource-cache.ts';
import { resourceRootOf } from '../storage/keys.ts';
import { RetainedBytes } from './retained-bytes.ts';
import { RevisionGate } from './revision-gate.ts';
import { createView, type View } from './view.ts';

export interface WatchCacheOptions {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Random;
  /** Built-in resources. Custom resources are added when their first object is read. */
  readonly definitions: readonly ResourceDefinition[];
  readonly encodeProtobuf: EncodeProtobuf;
  /** Reports failures from which the cache recovers by itself. */
  readonly onError: (message: string) => void;
  readonly ring?: RingLimits;
  readonly maxQueuedPerWatch?: number;
  readonly bookmarkEveryMs?: number;
  /** Maximum bytes of encoded representations of objects. */
  readonly retainedBytes?: number;
}

const RING: RingLimits = { minEvents: 128, maxEvents: 8192, maxBytes: 32 * 1024 * 1024, keepMs: 75_000 };
const RETAINED_BYTES = 64 * 1024 * 1024;
const MAX_QUEUED = 4096;
const BOOKMARK_EVERY_MS = 30_000;
const RETRY: BackoffOptions = { initialMs: 250, maxMs: 2000, jitter: 0.5 };
const PAGE = 5000;

/**
 * The apiserver's copy of all objects, updated by one watch of the store. `run` lists once and then watches. It lists again when etcd has
 * compacted events that it needs, or when the watch fails. Until the first list is complete, `ready` is false and nothing is served.
 */
export class WatchCache {
  readonly #options: WatchCacheOptions;
  readonly #resources = new Map<string, ResourceCache>();
  /** Memoises prefix lookups; a prefix keeps its cache for the life of the process. */
  readonly #found = new WeakMap<Keyed, ResourceCache>();
  readonly #views = new WeakMap<ResourceDefinition, View>();
  readonly #gate: RevisionGate;
  readonly #retained: RetainedBytes;
  readonly #firstLoad = Promise.withResolvers<void>();
  #ready = false;
  /** The revision of the last list. An object that is neither in it nor in a later event does not exist. */
  #loaded = 0;

  constructor(options: WatchCacheOptions) {
    this.#options = options;
    this.#retained = new RetainedBytes(options.retainedBytes ?? RETAINED_BYTES);
    this.#gate = new RevisionGate(options.clock, () => options.store.requestProgress());
    for (const definition of options.definitions) {
      const prefix = resourcePrefix(definition);
      if (!definition.stored || definition.storage !== undefined || this.#resources.has(prefix)) continue;
      this.#add(prefix, definition.selectableFields['spec.nodeName']);
    }
  }

  /** Whether the first list is complete. `/readyz` reports it. */
  get ready(): boolean {
    return this.#ready;
  }

  /** Every event up to this revision has been applied. */
  get revision(): number {
    return this.#gate.revision;
  }

  /** Resolves when the first list is complete. */
  async whenReady(signal: AbortSignal): Promise<void> {
    if (!this.#ready) await raceAbort(this.#firstLoad.promise, signal);
  }

  /**
   * The cache of a resource, with its objects in their storage version. Lookups are memoised by the identity of `of`, so callers should
   * pass a constant.
   */
  resource(of: Keyed): ResourceCache {
    let found = this.#found.get(of);
    if (found === undefined) {
      const prefix = resourcePrefix(of);
      found = this.#resources.get(prefix) ?? this.#add(prefix, undefined);
      this.#found.set(of, found);
    }
    return found;
  }

  /** The view of the objects in one version. */
  view(definition: ResourceDefinition): View {
    let view = this.#views.get(definition);
    if (view === undefined) {
      view = createView(definition, this.#options.encodeProtobuf, this.#retained);
      this.#views.set(definition, view);
    }
    return view;
  }

  /** The size of each cache that is not empty, with its prefix. */
  statistics(): readonly (CacheStatistics & { readonly prefix: string })[] {
    return [...this.#resources].flatMap(([prefix, resource]) => {
      const held = resource.statistics();
      return held.objects + held.events + held.watches === 0 ? [] : [{ prefix, ...held }];
    });
  }

  /** Bytes of encoded representations, and the limit. */
  get representations(): { readonly bytes: number; readonly limit: number } {
    return { bytes: this.#retained.total, limit: this.#retained.limit };
  }

  /** Waits until the cache has reached `revision`; false after `timeoutMs`. Requests progress notifications while it waits. */
  reach(revision: number, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    return this.#gate.reach(revision, timeoutMs, signal);
  }

  /** Waits until the cache has reached the store's newest revision; false after `timeoutMs`. Then it can serve a linearizable read. */
  async catchUp(timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    if (!this.#ready) return false;
    const current = await raceAbort(this.#options.store.currentRevision(signal), signal);
    return this.#gate.reach(current, timeoutMs, signal);
  }

  /** Lists and watches until aborted. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    const stopBookmarks = this.#scheduleBookmarks(signal);
    let failures = 0;
    try {
      while (!signal.aborted) {
        try {
          const revision = await this.#load(signal);
          failures = 0;
          await this.#follow(revision, signal);
        } catch (error) {
          if (signal.aborted) break;
          this.#options.onError(`watch cache: ${errorMessage(error)}`);
        }
        failures += 1;
        await pause(clock, backoffMs(RETRY, failures, random), signal);
      }
    } finally {
      stopBookmarks();
      for (const resource of this.#resources.values()) resource.close();
    }
  }

  async #load(signal: AbortSignal): Promise<number> {
    const { store, encodeProtobuf } = this.#options;
    const lists = new Map<ResourceCache, CachedEntry[]>();
    let startKey: string | undefined;
    let revision: number | undefined;
    do {
      const page = await store.list(REGISTRY, { limit: PAGE, startKey, revision }, signal);
      revision = page.revision;
      for (const stored of page.objects) {
        const resource = this.#resourceOf(stored.key);
        const entries = lists.get(resource);
        const entry = createEntry(stored, encodeProtobuf, this.#retained);
        if (entries === undefined) lists.set(resource, [entry]);
        else entries.push(entry);
      }
      startKey = page.next;
    } while (startKey !== undefined);
    this.#loaded = revision;
    for (const resource of this.#resources.values()) resource.reset(lists.get(resource) ?? [], revision);
    this.#ready = true;
    this.#gate.advance(revision);
    this.#firstLoad.resolve();
    return revision;
  }

  async #follow(revision: number, signal: AbortSignal): Promise<void> {
    for await (const item of this.#options.store.watch(revision, signal)) {
      if (signal.aborted) return;
      this.#take(item);
      if (item.kind === 'compacted') return;
    }
    if (!signal.aborted) throw new StoreError('unavailable', 'the watch of the tree ended');
  }

  #take(item: StoreWatchItem): void {
    switch (item.kind) {
      case 'events': {
        const now = this.#options.clock.now();
        for (const event of item.events) this.#resourceOf(event.key).apply(event, now);
        this.#gate.advance(item.revision);
        return;
      }
      case 'progress':
        this.#gate.advance(item.revision);
        return;
      case 'compacted':
        this.#options.onError(`watch cache: history compacted up to ${item.compactRevision}, listing again`);
    }
  }

  #resourceOf(key: string): ResourceCache {
    const prefix = resourceRootOf(key);
    return this.#resources.get(prefix) ?? this.#add(prefix, undefined);
  }

  #add(prefix: string, nodeNameOf: ((object: KubeObject) => string) | undefined): ResourceCache {
    const { ring = RING, maxQueuedPerWatch: maxQueued = MAX_QUEUED, encodeProtobuf: encode } = this.#options;
    const cache = new ResourceCache(prefix, { nodeNameOf, ring, maxQueued, encode, retained: this.#retained });
    if (this.#ready) cache.reset([], this.#loaded);
    this.#resources.set(prefix, cache);
    return cache;
  }

  #scheduleBookmarks(signal: AbortSignal): () => void {
    const { clock, bookmarkEveryMs = BOOKMARK_EVERY_MS } = this.#options;
    let cancel = () => {};
    const tick = () => {
      if (signal.aborted) return;
      if (this.#ready) for (const resource of this.#resources.values()) resource.bookmark(this.revision);
      cancel = clock.setTimer(bookmarkEveryMs, tick);
    };
    cancel = clock.setTimer(bookmarkEveryMs, tick);
    return () => cancel();
  }
}
