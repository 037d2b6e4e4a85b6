import type { ResourceRef } from '@gantry/api';
import { type Clock, errorMessage, type Random } from '@gantry/base';
import type { ObjectReader } from '@gantry/client';
import { Informer } from './informer.ts';
import type { Log } from './log.ts';
import { metadataReader } from './metadata-reader.ts';
import { Reflector, type ReflectorEvent } from './reflector.ts';
import type { Change } from './resource-index.ts';
import { groupResource, type ServedResource } from './served-resource.ts';

export interface ServedInformersOptions {
  readonly client: ObjectReader;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly onChanges: (resource: ServedResource, changes: readonly Change[]) => void;
  /** All objects of a resource are known from now on, or none any more. */
  readonly onShift: (resource: ServedResource) => void;
  /** Something may have been waited for: a resource was listed, or cannot be. */
  readonly onProgress: () => void;
}

interface Followed {
  readonly resource: ServedResource;
  readonly informer: Informer;
  readonly stop: AbortController;
  /** `unknown` until the first attempt to list has ended; `failing` until one has succeeded. */
  state: 'unknown' | 'failing' | 'synced';
}

/**
 * Follows resources that come and go, the metadata of their objects alone. Each is on its own: one that cannot be listed or
 * watched is tried again, and holds up nobody.
 */
export class ServedInformers {
  readonly #options: ServedInformersOptions;
  readonly #followed = new Map<string, Followed>();
  readonly #failed = Promise.withResolvers<never>();
  #running: AbortSignal | undefined;

  constructor(options: ServedInformersOptions) {
    this.#options = options;
    // Heard by `run`; before that nothing runs which could fail.
    this.#failed.promise.catch(() => undefined);
  }

  /** What is followed now. */
  resources(): readonly ServedResource[] {
    return [...this.#followed.values()].map(({ resource }) => resource);
  }

  informers(): readonly Informer[] {
    return [...this.#followed.values()].map(({ informer }) => informer);
  }

  /** By group and plural: all versions of a resource are one. */
  find(resource: ResourceRef): Informer | undefined {
    return this.#followed.get(groupResource(resource))?.informer;
  }

  isSynced(resource: ResourceRef): boolean {
    return this.#followed.get(groupResource(resource))?.state === 'synced';
  }

  /** Whether listing each has at least been tried. */
  get isSettled(): boolean {
    return [...this.#followed.values()].every(({ state }) => state !== 'unknown');
  }

  /** Follows these from now on, and nothing else. */
  set(resources: readonly ServedResource[]): void {
    const wanted = new Map(resources.map((resource) => [groupResource(resource), resource]));
    for (const [id, followed] of this.#followed) {
      const now = wanted.get(id);
      if (now !== undefined && isSame(now, followed.resource)) continue;
      followed.stop.abort();
      this.#followed.delete(id);
      // The objects stay what they are when another version of them is followed.
      if (now?.kind === followed.resource.kind) this.#follow(id, now, followed);
      else if (followed.state === 'synced') this.#options.onShift(followed.resource);
    }
    for (const [id, resource] of wanted) if (!this.#followed.has(id)) this.#follow(id, resource);
    this.#options.onProgress();
  }

  /** No object of this custom resource is left, whether or not its watch has told of the last. */
  empty(of: { readonly group: string; readonly resource: string }): void {
    const followed = this.#followed.get(groupResource(of));
    if (followed === undefined || followed.resource.origin !== 'custom') return;
    const changes = followed.informer.index.replace([]);
    if (changes.length > 0) this.#options.onChanges(followed.resource, changes);
  }

  /** Keeps what is followed up to date until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    this.#running = signal;
    for (const followed of this.#followed.values()) this.#start(followed, signal);
    const { promise, resolve } = Promise.withResolvers<void>();
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
    await Promise.race([promise, this.#failed.promise]);
  }

  #follow(id: string, resource: ServedResource, before?: Followed): void {
    const followed: Followed = {
      resource,
      informer: before?.informer ?? new Informer(),
      stop: new AbortController(),
      state: before?.state ?? 'unknown',
    };
    this.#followed.set(id, followed);
    if (this.#running !== undefined) this.#start(followed, this.#running);
  }

  #start(followed: Followed, signal: AbortSignal): void {
    this.#keep(followed, AbortSignal.any([signal, followed.stop.signal])).catch(this.#failed.reject);
  }

  async #keep(followed: Followed, signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#options;
    const { resource } = followed;
    const client = metadataReader(this.#options.client, resource);
    const reflector = new Reflector({ client, resource, clock, random, metadataOnly: true });
    let reported = '';
    let failures = 0;
    for await (const event of reflector.events(signal)) {
      if (signal.aborted) return;
      if (event.kind !== 'failed') {
        reported = '';
        failures = 0;
        this.#take(followed, event);
        continue;
      }
      const reason = errorMessage(event.error);
      failures += 1;
      // A watch that ends is opened again, or was of a resource that has gone: only what goes on failing is worth a word.
      if (reason !== reported && (event.phase === 'listing' || failures > 1)) {
        log.warn({ resource: groupResource(resource), phase: event.phase, reason }, 'a resource cannot be followed');
        reported = reason;
      }
      if (followed.state === 'unknown') followed.state = 'failing';
      this.#options.onProgress();
    }
  }

  #take(followed: Followed, event: Exclude<ReflectorEvent, { kind: 'failed' }>): void {
    const { resource, informer } = followed;
    const changes = informer.take(event);
    const isFirst = followed.state !== 'synced';
    followed.state = 'synced';
    if (changes.length > 0) this.#options.onChanges(resource, changes);
    if (isFirst) this.#options.onShift(resource);
    this.#options.onProgress();
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
