import { anySignal, type Clock, errorMessage, type Random } from '@gantry/base';
import type { ObjectReader } from '@gantry/client';
import { type KubeObject, parseLabelSelector, type Resource, type Selector } from '@gantry/objects';
import { Informer } from './informer.ts';
import type { Log } from './log.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';
import type { ObjectChange } from './resource-index.ts';
import { groupResource } from './served-resource.ts';

type Selection = Pick<ReflectorOptions, 'labelSelector' | 'fieldSelector' | 'metadataOnly'> & {
  /** Each has a watch of its own; '' is all namespaces. */
  readonly namespaces: readonly string[];
};

/** All objects of a resource in full. */
export const EVERYTHING: Selection = { namespaces: [''] };

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
  readonly #sources: readonly Source[];
  readonly #stop = new AbortController();

  constructor(options: FollowedResourceOptions<R>) {
    const { resource, client, selection = EVERYTHING, clock, random, before, byUid } = options;
    this.#options = options;
    this.resource = resource;
    this.selection = selection;
    this.#labels = selection.labelSelector === undefined ? undefined : parseLabelSelector(selection.labelSelector);
    const { namespaces, ...selectors } = selection;
    this.informer = before?.informer ?? new Informer(byUid, namespaces);
    this.#sources = namespaces.map((namespace) => ({
      namespace,
      reflector: new Reflector({ client, resource, clock, random, namespace, ...selectors }),
      state: before?.state ?? 'unknown',
      failingSinceMs: undefined,
    }));
  }

  /** `unknown` until the first attempt to list has ended; `failing` until one has succeeded. */
  get state(): SourceState {
    const states = new Set(this.#sources.map(({ state }) => state));
    return states.has('failing') ? 'failing' : states.has('unknown') ? 'unknown' : 'synced';
  }

  /** Monotonic time of the first failure after the last success; undefined while lists and watches of a namespace succeed. */
  get failingSinceMs(): number | undefined {
    const latestMs = Math.max(...this.#sources.map(({ failingSinceMs }) => failingSinceMs ?? Infinity));
    return Number.isFinite(latestMs) ? latestMs : undefined;
  }

  /** Whether an object is in the namespaces and matches the label selector of the watch. The field selector is not considered. */
  selects({ metadata }: KubeObject): boolean {
    const { namespaces } = this.selection;
    if (!namespaces.includes('') && !namespaces.includes(metadata.namespace ?? '')) return false;
    return this.#labels === undefined || this.#labels.matches(metadata.labels);
  }

  /** Lists again now, without waiting for the watch. */
  relist(): void {
    for (const { reflector } of this.#sources) reflector.relist();
  }

  /** Ends `run`. */
  stop(): void {
    this.#stop.abort();
  }

  /** Keeps the objects up to date until the signal is aborted, and calls `onProgress` after each step. */
  async run(onProgress: (progress: Progress) => void, signal: AbortSignal): Promise<void> {
    using either = anySignal(signal, this.#stop.signal);
    await Promise.all(this.#sources.map((source) => this.#run(source, onProgress, either)));
  }

  async #run(source: Source, onProgress: (progress: Progress) => void, signal: AbortSignal): Promise<void> {
    const failures = new FailureLog(this.resource, this.#options.log);
    for await (const event of source.reflector.events(signal)) {
      if (signal.aborted) return;
      if (event.kind === 'failed') {
        failures.failed(event.phase, errorMessage(event.error));
        if (source.state === 'unknown') source.state = 'failing';
        source.failingSinceMs ??= this.#options.clock.monotonicMs();
        onProgress({ changes: [], sync: 'failed' });
        continue;
      }
      failures.succeeded();
      source.failingSinceMs = undefined;
      const before = this.state;
      const changes = this.informer.take(event, source.namespace);
      source.state = 'synced';
      onProgress({ changes, sync: before !== 'synced' && this.state === 'synced' ? 'first' : 'later' });
    }
  }
}

type SourceState = 'unknown' | 'failing' | 'synced';

/** The watch of one namespace, or of all. */
interface Source {
  readonly namespace: string;
  readonly reflector: Reflector;
  state: SourceState;
  failingSinceMs: number | undefined;
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
