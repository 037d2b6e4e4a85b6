import { type Clock, type Instant } from '@gantry/base';
import type { ListOptions, ObjectReader, WatchEvent, WatchOptions } from '@gantry/client';
import { formatKey, INGRESSES, keyOf, type KubeObject, type Resource, StatusError } from '@gantry/objects';
import { leaveOut, plannedPart, storedVersion } from '../rules/planned-part.ts';
import { type CacheBounds, KeptIngresses } from './kept-ingresses.ts';

/** The page size of a list. An object may be larger than a megabyte, and uses several times that until only its planned part is left. */
const PAGE = 20;
/** `ofNamespace` is three times a namespace's bound of routes (`ROUTES`). A full cache has about 100 MB. */
const CACHE_BOUNDS: CacheBounds = { ofNamespace: 6000, all: 200_000, least: 300 };
/** How often Ingresses are listed again because there is room for those that were left out. */
const RELIST_MS = 60_000;

/**
 * Reads only the parts of objects that plans need (`plannedPart`), so that the caches hold no more. Ingresses without room are left out:
 * they come without rules until there is room (`KeptIngresses`).
 */
export class PlannedReader implements Pick<ObjectReader, 'get' | 'list' | 'watch'> {
  readonly #client: ObjectReader;
  readonly #clock: Clock;
  readonly #bounds: CacheBounds;
  #kept: KeptIngresses;
  #listedAt: Instant = 0;

  constructor(client: ObjectReader, clock: Clock, bounds = CACHE_BOUNDS) {
    this.#bounds = bounds;
    this.#kept = new KeptIngresses(bounds);
    this.#client = client;
    this.#clock = clock;
  }

  async get<T extends KubeObject>(resource: Resource<T>, key: Parameters<ObjectReader['get']>[1], signal: AbortSignal) {
    return plannedPart(resource.resource, await this.#client.get(resource, key, signal)) as T;
  }

  /** Reads in pages, so only the whole objects of one page are in memory at a time. */
  async list<T extends KubeObject>(resource: Resource<T>, options: ListOptions, signal: AbortSignal) {
    const kept = isIngresses(resource) ? new KeptIngresses(this.#bounds, this.#kept) : undefined;
    const items = new Map<string, T>();
    let resourceVersion: string | undefined;
    let continueToken = '';
    do {
      const page = await this.#client.list(resource, { ...options, limit: PAGE, continueToken }, signal);
      for (const item of page.items) {
        const part = plannedPart(resource.resource, item);
        items.set(formatKey(keyOf(item)), part as T);
        kept?.put(part);
      }
      for (const ingress of kept?.settle() ?? [])
        items.set(formatKey(keyOf(ingress)), leaveOut(ingress) as KubeObject as T);
      resourceVersion ??= page.resourceVersion;
      continueToken = page.continueToken;
    } while (continueToken !== '');
    if (kept !== undefined) {
      kept.endList();
      this.#kept = kept;
      this.#listedAt = this.#clock.monotonicMs();
    }
    return { items: [...items.values()], resourceVersion, continueToken };
  }

  /** Throws Expired when Ingresses have to be listed again. */
  async *watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterable<readonly WatchEvent<T>[]> {
    if (isIngresses(resource)) this.#requireRoom();
    const { resourceVersion } = options;
    const from = resourceVersion === undefined ? {} : { resourceVersion: storedVersion(resourceVersion) };
    for await (const batch of this.#client.watch(resource, { ...options, ...from }, signal)) {
      const planned = batch.map((event) =>
        event.type === 'BOOKMARK' ? event : { ...event, object: plannedPart(resource.resource, event.object) as T },
      );
      if (!isIngresses(resource)) {
        yield planned;
        continue;
      }
      yield this.#withRoom(planned) as readonly WatchEvent<T>[];
      this.#requireRoom();
    }
  }

  /** Returns the events, preceded by the events of the Ingresses that have to make room. */
  #withRoom(batch: readonly WatchEvent[]): readonly WatchEvent[] {
    for (const event of batch) {
      if (event.type === 'DELETED') this.#kept.remove(event.object);
      else if (event.type !== 'BOOKMARK') this.#kept.put(event.object);
    }
    const evicted = this.#kept.settle().map((ingress) => ({ type: 'MODIFIED' as const, object: leaveOut(ingress) }));
    this.#kept.confirm();
    const own = batch.map((event) => {
      if (event.type === 'BOOKMARK' || event.type === 'DELETED' || this.#kept.isKept(event.object)) return event;
      return { ...event, object: leaveOut(event.object) };
    });
    return [...evicted, ...own];
  }

  #requireRoom(): void {
    const isDue = this.#clock.monotonicMs() - this.#listedAt >= RELIST_MS;
    if (isDue && this.#kept.hasRoom()) throw StatusError.expired('there is room for Ingresses that were left out');
  }
}

function isIngresses({ resource }: Resource): boolean {
  return resource === INGRESSES.resource;
}
