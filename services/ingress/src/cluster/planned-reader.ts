import { type Clock, type Instant } from '@gantry/base';
import type { ListOptions, ObjectReader, WatchEvent, WatchOptions } from '@gantry/client';
import {
  formatKey,
  type Ingress,
  INGRESSES,
  keyOf,
  type KubeObject,
  type Resource,
  StatusError,
} from '@gantry/objects';
import { leaveOut, plannedPart, sizeOf } from '../rules/planned-part.ts';

/** An object may have more than a megabyte, and takes several times that until only its planned part is left. */
const PAGE = 20;
/** How much the Ingresses in the cache may name, as `sizeOf` counts. */
export interface Room {
  readonly ofNamespace: number;
  readonly all: number;
  /** Of a namespace also where others have used up what there is for all. */
  readonly least: number;
}

/** A namespace may name its routes and hosts thrice. With all of it the cache has about 100 MB. */
const ROOM: Room = { ofNamespace: 6000, all: 200_000, least: 300 };
/** How often Ingresses are listed again because there is room for those that were left out. */
const RELIST_MS = 60_000;

/**
 * Reads what plans need of objects (`plannedPart`), so that caches hold no more. Of a namespace that names too much, Ingresses are
 * left out: they come without rules until there is room.
 */
export class PlannedReader implements Pick<ObjectReader, 'get' | 'list' | 'watch'> {
  readonly #client: ObjectReader;
  readonly #clock: Clock;
  readonly #room: Room;
  #kept: KeptIngresses;
  #listedAt: Instant = 0;

  constructor(client: ObjectReader, clock: Clock, room = ROOM) {
    this.#room = room;
    this.#kept = new KeptIngresses(room);
    this.#client = client;
    this.#clock = clock;
  }

  async get<T extends KubeObject>(resource: Resource<T>, key: Parameters<ObjectReader['get']>[1], signal: AbortSignal) {
    return plannedPart(resource.resource, await this.#client.get(resource, key, signal)) as T;
  }

  /** In pages, of which one at a time is whole in memory. */
  async list<T extends KubeObject>(resource: Resource<T>, options: ListOptions, signal: AbortSignal) {
    if (isIngresses(resource)) {
      this.#kept = new KeptIngresses(this.#room);
      this.#listedAt = this.#clock.monotonicMs();
    }
    const items: T[] = [];
    let resourceVersion: string | undefined;
    let continueToken = '';
    do {
      const page = await this.#client.list(resource, { ...options, limit: PAGE, continueToken }, signal);
      for (const item of page.items) items.push(this.#planned(resource, item));
      resourceVersion ??= page.resourceVersion;
      continueToken = page.continueToken;
    } while (continueToken !== '');
    return { items, resourceVersion, continueToken };
  }

  /** Ends with Expired where Ingresses are to be listed again. */
  async *watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterable<readonly WatchEvent<T>[]> {
    if (isIngresses(resource)) this.#requireRoom();
    for await (const batch of this.#client.watch(resource, options, signal)) {
      yield batch.map((event) => {
        if (event.type === 'BOOKMARK') return event;
        if (event.type !== 'DELETED') return { ...event, object: this.#planned(resource, event.object) };
        if (isIngresses(resource)) this.#kept.remove(event.object);
        return { ...event, object: plannedPart(resource.resource, event.object) as T };
      });
      if (isIngresses(resource)) this.#requireRoom();
    }
  }

  #planned<T extends KubeObject>(resource: Resource<T>, object: T): T {
    const part = plannedPart(resource.resource, object);
    return (isIngresses(resource) && !this.#kept.put(part) ? leaveOut(part) : part) as T;
  }

  #requireRoom(): void {
    const isDue = this.#clock.monotonicMs() - this.#listedAt >= RELIST_MS;
    if (isDue && this.#kept.hasRoom()) throw StatusError.expired('there is room for Ingresses that were left out');
  }
}

function isIngresses({ resource }: Resource): boolean {
  return resource === INGRESSES.resource;
}

/** Counts what the Ingresses in the cache name. */
class KeptIngresses {
  readonly #sizes = new Map<string, { readonly namespace: string; readonly size: number }>();
  readonly #leftOut = new Map<string, { readonly namespace: string; readonly size: number }>();
  readonly #ofNamespaces = new Map<string, number>();
  readonly #room: Room;
  #all = 0;
  #isSmaller = false;

  constructor(room: Room) {
    this.#room = room;
  }

  /** Whether there is room for the Ingress, which replaces an earlier version. */
  put(ingress: Ingress): boolean {
    const key = formatKey(keyOf(ingress));
    const entry = { namespace: ingress.metadata.namespace ?? '', size: sizeOf(ingress) };
    this.remove(ingress);
    const fits = this.#fits(entry);
    if (fits) this.#count(entry.namespace, entry.size);
    (fits ? this.#sizes : this.#leftOut).set(key, entry);
    return fits;
  }

  remove(ingress: Ingress): void {
    const key = formatKey(keyOf(ingress));
    const entry = this.#sizes.get(key);
    this.#leftOut.delete(key);
    if (entry === undefined) return;
    this.#sizes.delete(key);
    this.#count(entry.namespace, -entry.size);
    this.#isSmaller = true;
  }

  /** Whether an Ingress that was left out would fit now. */
  hasRoom(): boolean {
    if (!this.#isSmaller) return false;
    this.#isSmaller = false;
    for (const entry of this.#leftOut.values()) {
      if (!this.#fits(entry)) continue;
      this.#isSmaller = true;
      return true;
    }
    return false;
  }

  #fits({ namespace, size }: { readonly namespace: string; readonly size: number }): boolean {
    const own = (this.#ofNamespaces.get(namespace) ?? 0) + size;
    const { ofNamespace, all, least } = this.#room;
    return own <= least || (own <= ofNamespace && this.#all + size <= all);
  }

  #count(namespace: string, size: number): void {
    this.#all += size;
    this.#ofNamespaces.set(namespace, (this.#ofNamespaces.get(namespace) ?? 0) + size);
  }
}
