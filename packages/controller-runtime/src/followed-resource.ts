import { anySignal, type Clock, errorMessage, type Random } from '@gantry/base';
import type { ObjectReader } from '@gantry/client';
import { type KubeObject, parseLabelSelector, type Resource, type Selector } from '@gantry/objects';
import { Informer } from './informer.ts';
import type { Log } from './log.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';
import type { ObjectChange } from './resource-index.ts';
import { groupResource } from './served-resource.ts';

type Selection = Pick<ReflectorOptions, 'namespace' | 'labelSelector' | 'fieldSelector' | 'metadataOnly'>;

export interface FollowedResourceOptions<R extends Resource> {
  readonly resource: R;
  readonly client: Pick<ObjectReader, 'list' | 'watch'>;
  /** Which objects are followed, and whether only their metadata; all objects in full when absent. */
  readonly selection?: Selection;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The objects of all resources by their uid. */
  readonly byUid?: Map<string, KubeObject>;
  /** The same resource in another version; its cached objects are kept. */
  readonly before?: FollowedResource;
}

/** The result of one event of the reflector. */
export interface Progress {
  readonly changes: readonly ObjectChange[];
  /** `first` for the first successful list. */
  readonly sync: 'first' | 'later' | 'failed';
}

/** One resource and its cached objects. It is followed independently of other resources; a failed list is repeated without limit. */
export class FollowedResource<R extends Resource = Resource> {
  readonly resource: R;
  readonly informer: Informer;
  readonly selection: Selection;
  readonly #labels: Selector | undefined;
  readonly #options: FollowedResourceOptions<R>;
  readonly #reflector: Reflector;
  readonly #stop = new AbortController();
  #state: 'unknown' | 'failing' | 'synced';
  #failingSinceMs: number | undefined;

  constructor(options: FollowedResourceOptions<R>) {
    const { resource, client, selection = {}, clock, random, before, byUid } = options;
    this.#options = options;
    this.resource = resource;
    this.selection = selection;
    this.#labels = selection.labelSelector === undefined ? undefined : parseLabelSelector(selection.labelSelector);
    this.informer = before?.informer ?? new Informer(byUid);
    this.#state = before?.state ?? 'unknown';
    this.#reflector = new Reflector({ client, resource, clock, random, ...selection });
  }

  /** `unknown` until the first attempt to list has ended; `failing` until one has succeeded. */
  get state(): 'unknown' | 'failing' | 'synced' {
    return this.#state;
  }

  /** Monotonic time of the first failure after the last success; undefined while lists and watches succeed. */
  get failingSinceMs(): number | undefined {
    return this.#failingSinceMs;
  }

  /** Whether an object is in the namespace and matches the label selector of the watch. The field selector is not considered. */
  selects({ metadata }: KubeObject): boolean {
    const { namespace = '' } = this.selection;
    if (namespace !== '' && metadata.namespace !== namespace) return false;
    return this.#labels === undefined || this.#labels.matches(metadata.labels);
  }

  /** Lists again now, without waiting for the watch. */
  relist(): void {
    this.#reflector.relist();
  }

  /** Ends `run`. */
  stop(): void {
    this.#stop.abort();
  }

  /** Keeps the objects up to date until the signal is aborted, and calls `onProgress` after each step. */
  async run(onProgress: (progress: Progress) => void, signal: AbortSignal): Promise<void> {
    using either = anySignal(signal, this.#stop.signal);
    const failures = new FailureLog(this.resource, this.#options.log);
    for await (const event of this.#reflector.events(either)) {
      if (either.aborted) return;
      if (event.kind === 'failed') {
        failures.failed(event.phase, errorMessage(event.error));
        if (this.#state === 'unknown') this.#state = 'failing';
        this.#failingSinceMs ??= this.#options.clock.monotonicMs();
        onProgress({ changes: [], sync: 'failed' });
        continue;
      }
      failures.succeeded();
      this.#failingSinceMs = undefined;
      const changes = this.informer.take(event);
      const sync = this.#state === 'synced' ? 'later' : 'first';
      this.#state = 'synced';
      onProgress({ changes, sync });
    }
  }
}

/** Logs consecutive failures once per reason. */
class FailureLog {
  readonly #resource: Resource;
  readonly #log: Log;
  #reported = '';
  #count = 0;

  constructor(resource: Resource, log: Log) {
    this.#resource = resource;
    this.#log = log;
  }

  succeeded(): void {
    this.#reported = '';
    this.#count = 0;
  }

  /** A single broken watch is not logged: it is opened again, or the resource no longer exists. */
  failed(phase: 'listing' | 'watching', reason: string): void {
    this.#count += 1;
    if (reason === this.#reported || (phase === 'watching' && this.#count === 1)) return;
    this.#log.warn(
      { resource: groupResource(this.#resource), phase, reason },
      'a resource cannot be followed, trying again',
    );
    this.#reported = reason;
  }
}
