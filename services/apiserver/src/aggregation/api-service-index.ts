import type { APIService, KubeObject } from '@gantry/objects';
import { type Priority, priorityOf } from './api-services.ts';
import type { WatchCache } from '../cache/index.ts';

export const API_SERVICES = { group: 'apiregistration.k8s.io', resource: 'apiservices' } as const;

export type StoredApiService = APIService & KubeObject;

/** A group version that an extension server serves. */
export interface RemoteApi {
  /** The name of the APIService: `v1.wardle.example.com`. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly service: { readonly namespace: string; readonly name: string; readonly port: number };
  /** PEM in base64. */
  readonly caBundle: string;
  readonly insecureSkipTLSVerify: boolean;
  readonly isAvailable: boolean;
  /** The bound that the server's documents exceed, by the condition; absent when the condition has another reason. */
  readonly excess?: string;
}

/** The reason of the condition when documents of a server exceed a bound. */
export const DOCUMENTS_TOO_LARGE = 'DocumentsTooLarge';

const HTTPS_PORT = 443;

/** The cached APIServices: the server of each group version, and the priorities. */
export class ApiServiceIndex {
  readonly #cache: WatchCache;
  #remotes = new Map<string, RemoteApi>();
  #priorities = new Map<string, Priority>();
  #order = '';
  #generation = 0;

  constructor(cache: WatchCache) {
    this.#cache = cache;
    cache.resource(API_SERVICES).observe(() => this.#read());
    this.#read();
  }

  /** Calls `listener` after every change of an APIService. The returned function unsubscribes. */
  observe(listener: () => void): () => void {
    return this.#cache.resource(API_SERVICES).observe(listener);
  }

  /** Increases when the order of group versions changes, or the set of those that extension servers serve. */
  get generation(): number {
    return this.#generation;
  }

  get remotes(): readonly RemoteApi[] {
    return [...this.#remotes.values()];
  }

  remote(group: string, version: string): RemoteApi | undefined {
    return this.#remotes.get(`${version}.${group}`);
  }

  /** The extension server of a path; undefined if this server serves it. */
  remoteAt(path: string): RemoteApi | undefined {
    const [, root, group = '', version = ''] = path.split('/');
    return root === 'apis' ? this.remote(group, version) : undefined;
  }

  /** All APIServices. */
  all(): readonly StoredApiService[] {
    return this.#cache
      .resource(API_SERVICES)
      .snapshot()
      .map(({ response }) => response.object as StoredApiService);
  }

  readonly priority = (group: string, version: string): Priority =>
    this.#priorities.get(`${version}.${group}`) ?? priorityOf(group, version);

  #read(): void {
    const remotes = new Map<string, RemoteApi>();
    const priorities = new Map<string, Priority>();
    for (const apiService of this.all()) {
      const { name = '' } = apiService.metadata;
      const { groupPriorityMinimum = 0, versionPriority = 0 } = apiService.spec ?? {};
      priorities.set(name, [groupPriorityMinimum, versionPriority]);
      const remote = remoteOf(apiService);
      if (remote !== undefined) remotes.set(name, remote);
    }
    this.#remotes = remotes;
    this.#priorities = priorities;
    const order = JSON.stringify([[...priorities], [...remotes.keys()]]);
    if (order === this.#order) return;
    this.#order = order;
    this.#generation++;
  }
}

/** The remote API of an APIService; undefined if this server serves the group version itself. */
export function remoteOf({ metadata, spec, status }: StoredApiService): RemoteApi | undefined {
  const { service, group = '', version = '', caBundle = '', insecureSkipTLSVerify = false } = spec ?? {};
  if (service === undefined) return undefined;
  const { namespace = '', name = '', port = HTTPS_PORT } = service;
  const available = (status?.conditions ?? []).find(({ type }) => type === 'Available');
  return {
    name: metadata.name ?? '',
    group,
    version,
    service: { namespace, name, port },
    caBundle,
    insecureSkipTLSVerify,
    isAvailable: available?.status === 'True',
    ...(available?.reason === DOCUMENTS_TOO_LARGE ? { excess: available.message ?? '' } : {}),
  };
}
