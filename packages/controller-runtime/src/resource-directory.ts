import type { APIService, CustomResourceDefinition, KubeObject, ResourceRef } from '@gantry/api';
import { type Clock, raceAbort, type Random } from '@gantry/base';
import type { Cache } from './cache.ts';
import { type Discover, RemoteGroup } from './remote-group.ts';
import {
  customResource,
  groupResource,
  groupVersion,
  remoteVersion,
  type RemoteVersion,
  type ServedResource,
} from './served-resource.ts';
import type { ServedInformers } from './served-informers.ts';
import type { ServedResources } from './served-resources.ts';

export const DEFINITIONS: ResourceRef = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
};
export const API_SERVICES: ResourceRef = { group: 'apiregistration.k8s.io', version: 'v1', resource: 'apiservices' };

export interface ResourceDirectoryOptions {
  /** Holds the definitions and the APIServices. */
  readonly cache: Cache;
  /** Absent where nobody can be asked: then what is aggregated is not known. */
  readonly discover?: Discover;
  readonly clock: Clock;
  readonly random: Random;
  /** What is known of the objects of what is served. */
  readonly followed: () => Pick<ServedInformers, 'isSettled' | 'isSynced'>;
  /** Told after what is served, or what is known of it, may have changed. */
  readonly onChange: () => void;
}

interface Running {
  readonly group: RemoteGroup;
  readonly stop: AbortController;
  /** As it was when the group was last told to ask. */
  apiService: KubeObject;
}

/** Keeps in step with definitions and APIServices, each other server for itself. */
export class ResourceDirectory implements ServedResources {
  readonly #options: ResourceDirectoryOptions;
  readonly #remotes = new Map<string, Running>();
  #running: AbortSignal | undefined;
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

  isSynced(resource: ResourceRef): boolean {
    return this.#options.followed().isSynced(resource);
  }

  async refresh(signal: AbortSignal): Promise<void> {
    if (this.#remotes.size === 0) return;
    await raceAbort(Promise.all([...this.#remotes.values()].map(({ group }) => group.ask())), signal);
  }

  /** Whether this group version is another server's. */
  isRemote({ group, version }: ResourceRef): boolean {
    return group !== '' && this.#remotes.has(groupVersion({ group, version }));
  }

  isSettled(): boolean {
    return [...this.#remotes.values()].every(({ group }) => group.wasAsked) && this.#options.followed().isSettled;
  }

  /** Takes the definitions and APIServices as the cache has them now. */
  update(): void {
    const { cache, discover } = this.#options;
    const present = new Map<string, { readonly of: RemoteVersion; readonly apiService: KubeObject }>();
    for (const apiService of discover === undefined ? [] : cache.list<APIService & KubeObject>(API_SERVICES)) {
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
        // Another place to ask, or word that the server answers again.
        known.apiService = apiService;
        void known.group.ask();
      }
    }
    this.#publish();
  }

  /** Asks other servers until the signal is aborted. */
  run(signal: AbortSignal): void {
    this.#running = signal;
    for (const running of this.#remotes.values()) this.#start(running, signal);
  }

  #add(id: string, of: RemoteVersion, apiService: KubeObject): void {
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

  /** A group version of another server hides what a definition says of the same one. */
  #publish(): void {
    const { cache, onChange } = this.#options;
    this.#resources = new Map();
    this.#kinds = new Map();
    const remotes = [...this.#remotes.values()]
      .map(({ group }) => group)
      .sort((a, b) => b.version.priority - a.version.priority || (a.version.version < b.version.version ? -1 : 1));
    for (const { resources } of remotes) for (const resource of resources) this.#put(resource);
    for (const crd of cache.list<CustomResourceDefinition & KubeObject>(DEFINITIONS)) {
      const resource = customResource(crd);
      if (resource !== undefined && !this.isRemote(resource)) this.#put(resource);
    }
    onChange();
  }

  #put(resource: ServedResource): void {
    const id = groupResource(resource);
    if (this.#resources.has(id)) return;
    this.#resources.set(id, resource);
    const kind = `${resource.group}/${resource.kind}`;
    if (!this.#kinds.has(kind)) this.#kinds.set(kind, resource);
  }
}
