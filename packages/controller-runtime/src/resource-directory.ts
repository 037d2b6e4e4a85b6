import type { APIService, CustomResourceDefinition, ResourceRef } from '@gantry/objects';
import { type Clock, raceAbort, type Random } from '@gantry/base';
import { type Discover, RemoteGroup } from './remote-group.ts';
import {
  customResource,
  groupResource,
  groupVersion,
  remoteVersion,
  type RemoteVersion,
  type ServedResource,
} from './served-resource.ts';

export interface ResourceDirectoryOptions {
  /** Absent where aggregated API servers are not discovered: their resources are then unknown. */
  readonly discover?: Discover;
  readonly clock: Clock;
  readonly random: Random;
}

/** The objects that declare custom and aggregated resources. */
export interface Declarations {
  readonly definitions: readonly CustomResourceDefinition[];
  readonly apiServices: readonly APIService[];
}

interface Running {
  readonly group: RemoteGroup;
  readonly stop: AbortController;
  /** The APIService at the last request for discovery. */
  apiService: APIService;
}

/**
 * The custom and aggregated resources. Custom ones come from the definitions of the last `update`. Aggregated ones come from discovery of
 * each APIService of that update; each server is discovered independently. Subscribers are called after each change.
 */
export class ResourceDirectory {
  readonly #options: ResourceDirectoryOptions;
  readonly #remotes = new Map<string, Running>();
  readonly #listeners = new Set<() => void>();
  #running: AbortSignal | undefined;
  #definitions: readonly CustomResourceDefinition[] = [];
  #resources = new Map<string, ServedResource>();
  #kinds = new Map<string, ServedResource>();

  constructor(options: ResourceDirectoryOptions) {
    this.#options = options;
  }

  list(): readonly ServedResource[] {
    return [...this.#resources.values()];
  }

  find(of: { readonly group: string; readonly resource: string }): ServedResource | undefined {
    return this.#resources.get(groupResource(of));
  }

  findKind(group: string, kind: string): ServedResource | undefined {
    return this.#kinds.get(`${group}/${kind}`);
  }

  failures(): readonly string[] {
    return [...this.#remotes.values()]
      .filter(({ group }) => group.failure !== undefined)
      .map(({ group }) => groupVersion(group.version))
      .sort();
  }

  async refresh(signal: AbortSignal): Promise<void> {
    if (this.#remotes.size === 0) return;
    await raceAbort(Promise.all([...this.#remotes.values()].map(({ group }) => group.ask())), signal);
  }

  /** Whether this group version is served by an aggregated API server. */
  isRemote({ group, version }: ResourceRef): boolean {
    return group !== '' && this.#remotes.has(groupVersion({ group, version }));
  }

  /** Whether discovery of each aggregated API server has been tried once. */
  isSettled(): boolean {
    return [...this.#remotes.values()].every(({ group }) => group.wasAsked);
  }

  /** Calls `listener` whenever resources or failures may have changed. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Sets the current definitions and APIServices. */
  update({ definitions, apiServices }: Declarations): void {
    this.#definitions = definitions;
    const present = new Map<string, { readonly of: RemoteVersion; readonly apiService: APIService }>();
    for (const apiService of this.#options.discover === undefined ? [] : apiServices) {
      const of = remoteVersion(apiService);
      if (of !== undefined) present.set(groupVersion(of), { of, apiService });
    }
    for (const [id, { stop, group }] of this.#remotes) {
      if (present.get(id)?.of.priority === group.version.priority) continue;
      stop.abort();
      this.#remotes.delete(id);
    }
    for (const [id, { of, apiService }] of present) {
      const known = this.#remotes.get(id);
      if (known === undefined) this.#add(id, of, apiService);
      else if (known.apiService.metadata.resourceVersion !== apiService.metadata.resourceVersion) {
        // The server's address or availability may have changed.
        known.apiService = apiService;
        void known.group.ask();
      }
    }
    this.#publish();
  }

  /** Runs discovery of the aggregated API servers until the signal is aborted. */
  run(signal: AbortSignal): void {
    this.#running = signal;
    for (const running of this.#remotes.values()) this.#start(running, signal);
  }

  #add(id: string, of: RemoteVersion, apiService: APIService): void {
    const { discover, clock, random } = this.#options;
    if (discover === undefined) return;
    const group = new RemoteGroup(of, { discover, clock, random, onAnswer: () => this.#publish() });
    const running: Running = { group, stop: new AbortController(), apiService };
    this.#remotes.set(id, running);
    if (this.#running !== undefined) this.#start(running, this.#running);
  }

  #start({ group, stop }: Running, signal: AbortSignal): void {
    void group.run(AbortSignal.any([signal, stop.signal]));
  }

  /** A group version of an aggregated API server takes precedence over definitions of the same one. */
  #publish(): void {
    this.#resources = new Map();
    this.#kinds = new Map();
    const remotes = [...this.#remotes.values()]
      .map(({ group }) => group)
      .sort((a, b) => b.version.priority - a.version.priority || (a.version.version < b.version.version ? -1 : 1));
    for (const { resources } of remotes) for (const resource of resources) this.#put(resource);
    for (const crd of this.#definitions) {
      const resource = customResource(crd);
      if (resource !== undefined && !this.isRemote(resource)) this.#put(resource);
    }
    for (const listener of this.#listeners) listener();
  }

  #put(resource: ServedResource): void {
    const id = groupResource(resource);
    if (this.#resources.has(id)) return;
    this.#resources.set(id, resource);
    const kind = `${resource.group}/${resource.kind}`;
    if (!this.#kinds.has(kind)) this.#kinds.set(kind, resource);
  }
}
