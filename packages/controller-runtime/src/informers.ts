import { type Clock, errorMessage, type Random } from '@gantry/base';
import type { ObjectReader } from '@gantry/client';
import type { KubeObject, ObjectKey, Resource, ResourceRef } from '@gantry/objects';
import type { Cache } from './cache.ts';
import { EVERYTHING, FollowedResource, type Progress } from './followed-resource.ts';
import type { Informer } from './informer.ts';
import type { Log } from './log.ts';
import { metadataReader, unmanagedReader } from './metadata-reader.ts';
import type { ObjectChange, ObjectIndex, ResourceIndex } from './resource-index.ts';
import { parseVersion, resourceId, storeRevision } from './revision.ts';
import { groupResource, type ServedResource } from './served-resource.ts';
import { Waiters } from './waiters.ts';

/** A change of cached objects. Reported after the cache shows it. */
export type InformerEvent =
  | { readonly kind: 'changed'; readonly resource: Resource; readonly changes: readonly ObjectChange[] }
  /** As `changed`, for a custom or aggregated resource. */
  | { readonly kind: 'servedChanged'; readonly resource: ServedResource; readonly changes: readonly ObjectChange[] }
  /** `served`: all objects of a custom or aggregated resource are known from now on. `unserved`: none are known any more. */
  | { readonly kind: 'served' | 'unserved'; readonly resource: ServedResource }
  /** An attempt to list a custom or aggregated resource has failed; none of its objects are known. */
  | { readonly kind: 'unlisted'; readonly resource: ServedResource };

/** Narrows what is cached of a resource. */
export interface InformedResource extends Resource {
  /** One or several namespaces; all when absent. Each has a watch of its own. */
  readonly namespace?: string | readonly string[];
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Caches only the metadata of each object, without managed fields. */
  readonly metadataOnly?: boolean;
}

export interface InformersOptions {
  readonly client: ObjectReader;
  /** Whether objects in the cache have their managed fields; `kept` when absent. */
  readonly managedFields?: 'kept' | 'dropped';
  readonly resources: readonly InformedResource[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface Subscription {
  readonly listener: (event: InformerEvent) => void;
  /** Ids of the built-in resources whose changes are reported to it; all when undefined. */
  readonly resources: ReadonlySet<string> | undefined;
}

/** The namespaces of which a resource is cached; `['']` for all. */
export function namespacesOf({ namespace = '' }: Pick<InformedResource, 'namespace'>): readonly string[] {
  const all = typeof namespace === 'string' ? [namespace] : [...new Set(namespace)];
  return all.length === 0 || all.includes('') ? [''] : all;
}

/** Milliseconds in which a watch should report an existing revision; after that, the resource is listed again. */
const CATCH_UP_MS = 30;

/**
 * Keeps a `Cache` of several resources up to date and reports what changes. Built-in resources are fixed, and readiness waits for them.
 * Custom and aggregated resources can be replaced at run time (`follow`); readiness does not wait for them.
 */
export class Informers {
  readonly cache: Cache;
  readonly #options: InformersOptions;
  /** By group, version and resource. */
  readonly #builtIn = new Map<string, FollowedResource>();
  /** By group and resource: all versions of a resource show the same objects. */
  readonly #served = new Map<string, FollowedResource<ServedResource>>();
  readonly #byUid = new Map<string, KubeObject>();
  readonly #listeners = new Set<Subscription>();
  /** Listeners of a built-in resource by its id. Rebuilt after the set of listeners has changed. */
  readonly #interested = new Map<string, readonly Subscription[]>();
  readonly #waiters = new Waiters();
  /** What `catchUp` waits for. */
  readonly #behind = new Set<string>();
  readonly #runs = new Set<Promise<void>>();
  readonly #failed = Promise.withResolvers<never>();
  #running: AbortSignal | undefined;

  constructor(options: InformersOptions) {
    this.#options = options;
    // `run` awaits it. Nothing can fail before `run` is called.
    this.#failed.promise.catch(() => undefined);
    for (const resource of options.resources) {
      const id = resourceId(resource);
      if (this.#builtIn.has(id)) continue;
      const { labelSelector, fieldSelector, metadataOnly } = resource;
      const selection = { namespaces: namespacesOf(resource), labelSelector, fieldSelector, metadataOnly };
      const full = options.managedFields === 'dropped' ? unmanagedReader(options.client) : options.client;
      const client = metadataOnly === true ? metadataReader(options.client, resource, 'kept') : full;
      this.#builtIn.set(id, new FollowedResource({ ...options, client, resource, selection, byUid: this.#byUid }));
    }
    this.cache = this.#createCache();
  }

  /** Follows all resources until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    this.#running = signal;
    for (const followed of this.#builtIn.values()) this.#startBuiltIn(followed, signal);
    for (const followed of this.#served.values()) this.#startServed(followed, signal);
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
    if (signal.aborted) stop();
    else signal.addEventListener('abort', () => stop(), { once: true });
    await Promise.race([stopped, this.#failed.promise]);
    await Promise.all(this.#runs);
  }

  /**
   * Reports events from now on. `resources` holds ids of built-in resources and limits their events; absent, all are reported. Listeners
   * are called in the order of subscription. The returned function unsubscribes.
   */
  subscribe(listener: (event: InformerEvent) => void, resources?: ReadonlySet<string>): () => void {
    const subscription = { listener, resources };
    this.#listeners.add(subscription);
    this.#interested.clear();
    return () => {
      this.#listeners.delete(subscription);
      this.#interested.clear();
    };
  }

  /** Whether every built-in resource has been listed once. */
  synced(): boolean {
    return this.missing().length === 0;
  }

  /** Names of built-in resources that have not been listed yet. */
  missing(): readonly string[] {
    return [...this.#builtIn.values()]
      .filter(({ informer }) => informer.reached === 0)
      .map(({ resource }) => resource.resource);
  }

  /** Names of built-in resources that have not been listed yet, and of those that `catchUp` waits for. */
  lagging(): readonly string[] {
    return [...new Set([...this.missing(), ...this.#behind])];
  }

  /** Monotonic time since which no built-in resource can be followed; undefined while at least one can. */
  strandedSinceMs(): number | undefined {
    const since = [...this.#builtIn.values()].map(({ failingSinceMs }) => failingSinceMs ?? Infinity);
    const latestMs = Math.max(...since);
    return Number.isFinite(latestMs) ? latestMs : undefined;
  }

  /** From now on, follows the metadata of exactly these custom and aggregated resources. */
  follow(resources: readonly ServedResource[]): void {
    const wanted = new Map(resources.map((resource) => [groupResource(resource), resource]));
    for (const [id, followed] of this.#served) {
      const now = wanted.get(id);
      if (now !== undefined && isSame(now, followed.resource)) continue;
      followed.stop();
      this.#served.delete(id);
      // Another version has the same objects, so they are kept.
      if (now?.kind === followed.resource.kind) {
        this.#add(id, now, followed);
        continue;
      }
      // Removes its objects from the index by uid.
      followed.informer.index.replace([]);
      if (followed.state === 'synced') this.#emit({ kind: 'unserved', resource: followed.resource });
    }
    for (const [id, resource] of wanted) if (!this.#served.has(id)) this.#add(id, resource);
    this.#waiters.check();
  }

  /** The custom and aggregated resources that are followed. */
  followed(): readonly ServedResource[] {
    return [...this.#served.values()].map(({ resource }) => resource);
  }

  /** Whether the cache holds all objects of a custom or aggregated resource. */
  isSynced(resource: ResourceRef): boolean {
    return this.#served.get(groupResource(resource))?.state === 'synced';
  }

  /** Whether each custom and aggregated resource has been listed or has failed to be listed at least once. */
  isSettled(): boolean {
    return [...this.#served.values()].every(({ state }) => state !== 'unknown');
  }

  /**
   * Drops the cached objects of a custom resource whose objects are known to be deleted. Its watch may not have reported the last
   * deletions.
   */
  empty(of: { readonly group: string; readonly resource: string }): void {
    const followed = this.#served.get(groupResource(of));
    if (followed === undefined || followed.resource.origin !== 'custom') return;
    const changes = followed.informer.index.replace([]);
    if (changes.length > 0) this.#emit({ kind: 'servedChanged', resource: followed.resource, changes });
  }

  /** Resolves when a condition on the cache holds; it is checked after every change. */
  when(isDone: () => boolean, signal: AbortSignal): Promise<void> {
    return this.#waiters.when(isDone, signal);
  }

  /**
   * Resolves when all built-in resources in the cache have reached a revision. A linearizable read makes the server learn of the revision.
   * A resource whose watch does not report it is listed again.
   */
  async reach(revision: number, signal: AbortSignal): Promise<void> {
    await this.when(() => this.synced(), signal);
    const isReached = () => this.cache.revision() >= revision;
    if (isReached()) return;
    this.#readRevision(signal);
    const cancel = this.#options.clock.setTimer(CATCH_UP_MS, () => {
      for (const followed of this.#builtIn.values()) {
        if (storeRevision(followed.informer.reached) < revision) followed.relist();
      }
    });
    try {
      await this.when(isReached, signal);
    } finally {
      cancel();
    }
  }

  /** Resolves when all built-in resources in the cache have reached the newest revision of the API. */
  async reachNewest(signal: AbortSignal): Promise<void> {
    const first = this.#builtIn.values().next().value;
    if (first === undefined) return;
    const { resourceVersion } = await this.#options.client.list(first.resource, { limit: 1 }, signal);
    await this.reach(storeRevision(parseVersion(resourceVersion)), signal);
  }

  /**
   * Resolves when each built-in resource in the cache has reached the newest version that the server has of it. Unlike `reachNewest`, it
   * compares no versions of different resources, so it works with any API server.
   */
  async catchUp(signal: AbortSignal): Promise<void> {
    await this.when(() => this.synced(), signal);
    this.#behind.clear();
    await Promise.all([...this.#builtIn.values()].map((followed) => this.#catchUp(followed, signal)));
  }

  async #catchUp(followed: FollowedResource, signal: AbortSignal): Promise<void> {
    const { resource, informer, selection } = followed;
    this.#behind.add(resource.resource);
    const { namespaces, ...selectors } = selection;
    const newest = new Map<string, number>();
    for (const namespace of namespaces) {
      const options = { ...selectors, namespace, limit: 1 };
      const { resourceVersion } = await this.#options.client.list(resource, options, signal);
      newest.set(namespace, parseVersion(resourceVersion));
    }
    const isReached = () => [...newest].every(([namespace, version]) => informer.reachedIn(namespace) >= version);
    const cancel = isReached() ? () => undefined : this.#options.clock.setTimer(CATCH_UP_MS, () => followed.relist());
    try {
      await this.when(isReached, signal);
    } finally {
      cancel();
    }
    this.#behind.delete(resource.resource);
  }

  #readRevision(signal: AbortSignal): void {
    const first = this.#builtIn.values().next().value;
    if (first === undefined) return;
    this.#options.client.list(first.resource, { limit: 1 }, signal).catch((error: unknown) => {
      if (!signal.aborted) this.#options.log.debug({ reason: errorMessage(error) }, 'reading the revision failed');
    });
  }

  #createCache(): Cache {
    const find = (resource: ResourceRef): FollowedResource | undefined =>
      this.#builtIn.get(resourceId(resource)) ?? this.#served.get(groupResource(resource));
    const index = (resource: ResourceRef): ResourceIndex | undefined => find(resource)?.informer.index;
    return {
      get: <T extends KubeObject>(resource: Resource<T>, key: ObjectKey) => index(resource)?.get(key) as T | undefined,
      list: <T extends KubeObject>(resource: Resource<T>, namespace?: string) =>
        (index(resource)?.list(namespace) ?? []) as readonly T[],
      controlledBy: <T extends KubeObject>(resource: Resource<T>, namespace: string, ownerUid: string) =>
        (index(resource)?.controlledBy(namespace, ownerUid) ?? []) as readonly T[],
      withoutController: <T extends KubeObject>(resource: Resource<T>, namespace: string) =>
        (index(resource)?.withoutController(namespace) ?? []) as readonly T[],
      onNode: <T extends KubeObject>(resource: Resource<T>, nodeName: string) =>
        (index(resource)?.onNode(nodeName) ?? []) as readonly T[],
      labelled: <T extends KubeObject>(resource: Resource<T>, namespace: string, labels: Record<string, string>) =>
        (index(resource)?.labelled(namespace, labels) ?? []) as readonly T[],
      selecting: <T extends KubeObject>(resource: Resource<T>, namespace: string, labels: Record<string, string>) =>
        (index(resource)?.selecting(namespace, labels) ?? []) as readonly T[],
      indexed: <T extends KubeObject>({ resource, valuesOf }: ObjectIndex<T>, value: string) =>
        (index(resource)?.indexed(valuesOf as ObjectIndex['valuesOf'], value) ?? []) as readonly T[],
      revision: () => {
        let lowest = Number.POSITIVE_INFINITY;
        for (const { informer } of this.#builtIn.values()) lowest = Math.min(lowest, informer.reached);
        return Number.isFinite(lowest) ? storeRevision(lowest) : 0;
      },
      dependentsOf: (ownerUid) => this.#informers().flatMap((informer) => informer.index.dependentsOf(ownerUid)),
      withUid: (uid) => this.#byUid.get(uid),
      selects: (resource, object) => find(resource)?.selects(object) === true,
      reached: (resource, namespace) => {
        const builtIn = this.#builtIn.get(resourceId(resource));
        if (builtIn !== undefined) return builtIn.informer.reachedIn(namespace ?? '');
        return this.isSynced(resource) ? find(resource)?.informer.reached : undefined;
      },
    };
  }

  #informers(): readonly Informer[] {
    return [...this.#builtIn.values(), ...this.#served.values()].map(({ informer }) => informer);
  }

  #add(id: string, resource: ServedResource, before?: FollowedResource): void {
    const followed = new FollowedResource({
      ...this.#options,
      resource,
      byUid: this.#byUid,
      client: metadataReader(this.#options.client, resource, 'dropped'),
      selection: { ...EVERYTHING, metadataOnly: true },
      ...(before === undefined ? {} : { before }),
    });
    this.#served.set(id, followed);
    if (this.#running !== undefined) this.#startServed(followed, this.#running);
  }

  #startBuiltIn(followed: FollowedResource, signal: AbortSignal): void {
    const { resource } = followed;
    this.#start(followed, signal, ({ changes }) => {
      if (changes.length > 0) this.#emit({ kind: 'changed', resource, changes });
    });
  }

  #startServed(followed: FollowedResource<ServedResource>, signal: AbortSignal): void {
    const { resource } = followed;
    this.#start(followed, signal, ({ changes, sync }) => {
      if (changes.length > 0) this.#emit({ kind: 'servedChanged', resource, changes });
      if (sync === 'first') this.#emit({ kind: 'served', resource });
      if (sync === 'failed' && followed.state === 'failing') this.#emit({ kind: 'unlisted', resource });
    });
  }

  #start(followed: FollowedResource, signal: AbortSignal, report: (progress: Progress) => void): void {
    const onProgress = (progress: Progress) => {
      report(progress);
      this.#waiters.check();
    };
    const run = followed.run(onProgress, signal).catch(this.#failed.reject);
    this.#runs.add(run);
    void run.finally(() => this.#runs.delete(run));
  }

  #emit(event: InformerEvent): void {
    const called = event.kind === 'changed' ? this.#listenersFor(resourceId(event.resource)) : [...this.#listeners];
    // A listener may have unsubscribed another one during this loop.
    for (const subscription of called) if (this.#listeners.has(subscription)) subscription.listener(event);
  }

  #listenersFor(id: string): readonly Subscription[] {
    const known = this.#interested.get(id);
    if (known !== undefined) return known;
    const found = [...this.#listeners].filter(({ resources }) => resources === undefined || resources.has(id));
    this.#interested.set(id, found);
    return found;
  }
}

function isSame(left: ServedResource, right: ServedResource): boolean {
  return (
    left.version === right.version &&
    left.kind === right.kind &&
    left.namespaced === right.namespaced &&
    left.origin === right.origin
  );
}
