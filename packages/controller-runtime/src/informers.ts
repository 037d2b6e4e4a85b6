import type { KubeObject, ObjectKey, ResourceRef } from '@gantry/api';
import { type Clock, errorMessage, type Random } from '@gantry/base';
import type { ObjectReader } from '@gantry/client';
import type { Cache } from './cache.ts';
import { Informer } from './informer.ts';
import type { Log } from './log.ts';
import { Reflector } from './reflector.ts';
import type { Change, ResourceIndex } from './resource-index.ts';
import { resourceId, revisionOf } from './revision.ts';
import { ServedInformers } from './served-informers.ts';
import type { ServedResource } from './served-resource.ts';

/** Told of every change of the cached objects, after the cache holds it. */
export type ChangeListener = (resource: ResourceRef, changes: readonly Change[]) => void;

/** As `ChangeListener`, of what is not built in. */
export type ServedChangeListener = (resource: ServedResource, changes: readonly Change[]) => void;

/** Told of a resource that is not built in, when all its objects have become known or none are any more. */
export type ShiftListener = (resource: ServedResource) => void;

/** Narrows what is cached of a resource. */
export interface InformedResource extends ResourceRef {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface InformersOptions {
  readonly client: ObjectReader;
  readonly resources: readonly InformedResource[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface Informed {
  readonly resource: InformedResource;
  readonly reflector: Reflector;
  readonly informer: Informer;
}

interface Waiter {
  readonly isDone: () => boolean;
  readonly resolve: () => void;
}

/** How long a cache may take to hear by itself of a revision that exists, before it lists again. */
const CATCH_UP_MS = 30;

/** Keeps a `Cache` of several resources up to date, and tells listeners what changes. */
export class Informers {
  readonly cache: Cache;
  readonly #options: InformersOptions;
  readonly #informed = new Map<string, Informed>();
  readonly #served: ServedInformers;
  readonly #listeners = new Set<ChangeListener>();
  readonly #servedListeners = new Set<ServedChangeListener>();
  readonly #shiftListeners = new Set<ShiftListener>();
  #waiters: Waiter[] = [];

  constructor(options: InformersOptions) {
    this.#options = options;
    const { client, clock, random } = options;
    for (const resource of options.resources) {
      const id = resourceId(resource);
      if (this.#informed.has(id)) continue;
      const { namespace, labelSelector, fieldSelector } = resource;
      const reflector = new Reflector({
        client,
        resource,
        clock,
        random,
        ...(namespace === undefined ? {} : { namespace }),
        ...(labelSelector === undefined ? {} : { labelSelector }),
        ...(fieldSelector === undefined ? {} : { fieldSelector }),
      });
      this.#informed.set(id, { resource, reflector, informer: new Informer() });
    }
    this.#served = new ServedInformers({
      client,
      clock,
      random,
      log: options.log,
      onChanges: (resource, changes) => {
        for (const listener of this.#servedListeners) listener(resource, changes);
      },
      onShift: (resource) => {
        for (const listener of this.#shiftListeners) listener(resource);
      },
      onProgress: () => this.#wake(),
    });
    this.cache = this.#createCache();
  }

  /** Follows all resources until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const informed = [...this.#informed.values()].map((one) => this.#follow(one, signal));
    await Promise.all([...informed, this.#served.run(signal)]);
  }

  /** Whether everything that is built in has been listed once. */
  synced(): boolean {
    return [...this.#informed.values()].every(({ informer }) => informer.reached > 0);
  }

  /** What is followed of what is served besides; `set` replaces it while all runs. Nobody waits for it. */
  get served(): Pick<ServedInformers, 'empty' | 'isSettled' | 'isSynced' | 'resources' | 'set'> {
    return this.#served;
  }

  /** Names of the built-in resources that were never listed yet. */
  missing(): readonly string[] {
    return [...this.#informed.values()]
      .filter(({ informer }) => informer.reached === 0)
      .map(({ resource }) => resource.resource);
  }

  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onServedChange(listener: ServedChangeListener): () => void {
    this.#servedListeners.add(listener);
    return () => this.#servedListeners.delete(listener);
  }

  /** Told when all objects of a served resource have become known, or when none are known any more. */
  onShift(listener: ShiftListener): () => void {
    this.#shiftListeners.add(listener);
    return () => this.#shiftListeners.delete(listener);
  }

  /** Resolves when a condition on the cache holds; it is looked at after every change. */
  when(isDone: () => boolean, signal: AbortSignal): Promise<void> {
    if (isDone()) return Promise.resolve();
    if (signal.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        isDone,
        resolve: () => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      this.#waiters.push(waiter);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  /**
   * Resolves when the cache has reached a revision in all that is built in. A linearizable read makes the server learn of it; a resource that
   * does not hear of it through its watch is listed again.
   */
  async reach(revision: number, signal: AbortSignal): Promise<void> {
    await this.when(() => this.synced(), signal);
    const isReached = () => this.cache.revision() >= revision;
    if (isReached()) return;
    this.#poke(signal);
    const cancel = this.#options.clock.setTimer(CATCH_UP_MS, () => {
      for (const { reflector, informer } of this.#informed.values()) {
        if (revisionOf(informer.reached) < revision) reflector.relist();
      }
    });
    try {
      await this.when(isReached, signal);
    } finally {
      cancel();
    }
  }

  #poke(signal: AbortSignal): void {
    const first = this.#informed.values().next().value;
    if (first === undefined) return;
    this.#options.client.list(first.resource, { limit: 1 }, signal).catch((error: unknown) => {
      if (!signal.aborted) this.#options.log.debug({ reason: errorMessage(error) }, 'asking for the revision failed');
    });
  }

  #createCache(): Cache {
    const find = (resource: ResourceRef): Informer | undefined =>
      this.#informed.get(resourceId(resource))?.informer ?? this.#served.find(resource);
    const index = (resource: ResourceRef): ResourceIndex | undefined => find(resource)?.index;
    return {
      get: <T extends KubeObject>(resource: ResourceRef, key: ObjectKey) => index(resource)?.get(key) as T | undefined,
      list: <T extends KubeObject>(resource: ResourceRef, namespace?: string) =>
        (index(resource)?.list(namespace) ?? []) as readonly T[],
      controlledBy: <T extends KubeObject>(resource: ResourceRef, ownerUid: string) =>
        (index(resource)?.controlledBy(ownerUid) ?? []) as readonly T[],
      onNode: <T extends KubeObject>(resource: ResourceRef, nodeName: string) =>
        (index(resource)?.onNode(nodeName) ?? []) as readonly T[],
      revision: () => {
        let lowest = Number.POSITIVE_INFINITY;
        for (const { informer } of this.#informed.values()) lowest = Math.min(lowest, informer.reached);
        return Number.isFinite(lowest) ? revisionOf(lowest) : 0;
      },
      dependentsOf: (ownerUid) => this.#all().flatMap((informer) => informer.index.dependentsOf(ownerUid)),
      withUid: (uid) => {
        for (const informer of this.#all()) {
          const found = informer.index.withUid(uid);
          if (found !== undefined) return found;
        }
        return undefined;
      },
      reached: (resource) => {
        const informed = this.#informed.get(resourceId(resource));
        if (informed !== undefined) return informed.informer.reached;
        return this.#served.isSynced(resource) ? this.#served.find(resource)?.reached : undefined;
      },
    };
  }

  #all(): readonly Informer[] {
    return [...[...this.#informed.values()].map(({ informer }) => informer), ...this.#served.informers()];
  }

  async #follow({ resource, reflector, informer }: Informed, signal: AbortSignal): Promise<void> {
    for await (const event of reflector.events(signal)) {
      if (event.kind === 'failed') {
        this.#options.log.warn(
          { resource: resource.resource, phase: event.phase, reason: errorMessage(event.error) },
          'following a resource failed, trying again',
        );
      } else {
        this.#tell(resource, informer.take(event));
        this.#wake();
      }
    }
  }

  #tell(resource: ResourceRef, changes: readonly Change[]): void {
    if (changes.length > 0) for (const listener of this.#listeners) listener(resource, changes);
  }

  #wake(): void {
    const done = this.#waiters.filter(({ isDone }) => isDone());
    if (done.length === 0) return;
    this.#waiters = this.#waiters.filter((waiter) => !done.includes(waiter));
    for (const waiter of done) waiter.resolve();
  }
}
