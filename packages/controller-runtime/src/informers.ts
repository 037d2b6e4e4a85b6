import type { KubeObject, ObjectKey, ResourceRef } from '@gantry/api';
import { type Clock, errorMessage, type Random } from '@gantry/base';
import type { ObjectReader } from '@gantry/client';
import type { Cache } from './cache.ts';
import type { Log } from './log.ts';
import { Reflector, type ReflectorEvent } from './reflector.ts';
import { type Change, ResourceIndex } from './resource-index.ts';
import { parseVersion, resourceId, revisionOf } from './revision.ts';

/** Told of every change of the cached objects, after the cache holds it. */
export type ChangeListener = (resource: ResourceRef, changes: readonly Change[]) => void;

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

interface Informer {
  readonly resource: InformedResource;
  readonly reflector: Reflector;
  readonly index: ResourceIndex;
  /** resourceVersion up to which everything is in the index; 0 before the first list. */
  reached: number;
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
  readonly #informers = new Map<string, Informer>();
  readonly #listeners = new Set<ChangeListener>();
  #waiters: Waiter[] = [];

  constructor(options: InformersOptions) {
    this.#options = options;
    const { client, clock, random } = options;
    for (const resource of options.resources) {
      const id = resourceId(resource);
      if (this.#informers.has(id)) continue;
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
      this.#informers.set(id, { resource, reflector, index: new ResourceIndex(), reached: 0 });
    }
    this.cache = this.#createCache();
  }

  /** Follows all resources until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#informers.values()].map((informer) => this.#follow(informer, signal)));
  }

  /** Whether everything has been listed once. */
  synced(): boolean {
    return [...this.#informers.values()].every(({ reached }) => reached > 0);
  }

  /** Names of the resources that were never listed yet. */
  missing(): readonly string[] {
    return [...this.#informers.values()]
      .filter(({ reached }) => reached === 0)
      .map(({ resource }) => resource.resource);
  }

  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
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
   * Resolves when the whole cache has reached a revision. A linearizable read makes the server learn of it; a resource that
   * does not hear of it through its watch is listed again.
   */
  async reach(revision: number, signal: AbortSignal): Promise<void> {
    await this.when(() => this.synced(), signal);
    const isReached = () => this.cache.revision() >= revision;
    if (isReached()) return;
    this.#poke(signal);
    const cancel = this.#options.clock.setTimer(CATCH_UP_MS, () => {
      for (const { reflector, reached } of this.#informers.values()) {
        if (revisionOf(reached) < revision) reflector.relist();
      }
    });
    try {
      await this.when(isReached, signal);
    } finally {
      cancel();
    }
  }

  #poke(signal: AbortSignal): void {
    const first = this.#informers.values().next().value;
    if (first === undefined) return;
    this.#options.client.list(first.resource, { limit: 1 }, signal).catch((error: unknown) => {
      if (!signal.aborted) this.#options.log.debug({ reason: errorMessage(error) }, 'asking for the revision failed');
    });
  }

  #createCache(): Cache {
    const index = (resource: ResourceRef): ResourceIndex | undefined =>
      this.#informers.get(resourceId(resource))?.index;
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
        for (const { reached } of this.#informers.values()) lowest = Math.min(lowest, reached);
        return Number.isFinite(lowest) ? revisionOf(lowest) : 0;
      },
      dependentsOf: (ownerUid) =>
        [...this.#informers.values()].flatMap((informer) => informer.index.dependentsOf(ownerUid)),
      reached: (resource) => this.#informers.get(resourceId(resource))?.reached,
    };
  }

  async #follow(informer: Informer, signal: AbortSignal): Promise<void> {
    for await (const event of informer.reflector.events(signal)) this.#take(informer, event);
  }

  #take(informer: Informer, event: ReflectorEvent): void {
    switch (event.kind) {
      case 'resync': {
        const changes = informer.index.replace(event.objects);
        informer.reached = parseVersion(event.resourceVersion);
        this.#tell(informer.resource, changes);
        break;
      }
      case 'changes': {
        const changes: Change[] = [];
        for (const { kind, object } of event.changes) {
          const change = kind === 'put' ? informer.index.put(object) : informer.index.remove(object);
          if (change !== undefined) changes.push(change);
        }
        informer.reached = Math.max(informer.reached, parseVersion(event.resourceVersion));
        this.#tell(informer.resource, changes);
        break;
      }
      case 'failed':
        this.#options.log.warn(
          { resource: informer.resource.resource, phase: event.phase, reason: errorMessage(event.error) },
          'following a resource failed, trying again',
        );
        break;
    }
  }

  #tell(resource: ResourceRef, changes: readonly Change[]): void {
    if (changes.length > 0) for (const listener of this.#listeners) listener(resource, changes);
    const done = this.#waiters.filter(({ isDone }) => isDone());
    if (done.length === 0) return;
    this.#waiters = this.#waiters.filter((waiter) => !done.includes(waiter));
    for (const waiter of done) waiter.resolve();
  }
}
