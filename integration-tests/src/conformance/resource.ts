import {
  type ApiConstructor,
  type ApiType,
  type ConfigurationOptions,
  type KubernetesListObject,
  type KubernetesObject,
  PatchStrategy,
  setHeaderOptions,
} from '@kubernetes/client-node';
import { Watching } from './watching.ts';
import type { ClusterUnderTest } from './world.ts';

/** A built-in resource as the typed clients know it. */
export interface ResourceKind {
  readonly api: ApiConstructor<ApiType>;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** As it is in the names of the client's methods. */
  readonly kind: string;
  readonly scope: 'Cluster' | 'Namespaced';
}

/** What a list, a watch or the deletion of a collection may be restricted to. */
export interface Selection {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export type PatchType = 'merge' | 'strategic' | 'json' | 'apply';

const CONTENT_TYPES: Readonly<Record<PatchType, string>> = {
  merge: PatchStrategy.MergePatch,
  strategic: PatchStrategy.StrategicMergePatch,
  json: PatchStrategy.JsonPatch,
  apply: PatchStrategy.ServerSideApply,
};

type Method = (parameters: object, options?: ConfigurationOptions) => Promise<unknown>;

/**
 * One resource, in one namespace if it is namespaced, through the methods that the client library has for it:
 * `createNamespacedIngress`, `readFlowSchemaStatus`, and so on.
 */
export class Resource<T extends KubernetesObject> {
  readonly kind: ResourceKind;
  readonly #cluster: ClusterUnderTest;
  readonly #namespace: string;

  constructor(cluster: ClusterUnderTest, kind: ResourceKind, namespace = '') {
    this.kind = kind;
    this.#cluster = cluster;
    this.#namespace = namespace;
  }

  async create(body: T, query: object = {}): Promise<T> {
    return (await this.#call('create', '', { body, ...query })) as T;
  }

  async get(name: string, subresource = ''): Promise<T> {
    return (await this.#call('read', subresource, { name })) as T;
  }

  async list(selection: Selection & { readonly limit?: number } = {}): Promise<KubernetesListObject<T>> {
    return (await this.#call('list', '', selection)) as KubernetesListObject<T>;
  }

  /** Of all namespaces. */
  async listAll(selection: Selection = {}): Promise<KubernetesListObject<T>> {
    const name = this.kind.scope === 'Cluster' ? `list${this.kind.kind}` : `list${this.kind.kind}ForAllNamespaces`;
    return (await this.#method(name)(selection)) as KubernetesListObject<T>;
  }

  async patch(name: string, type: PatchType, body: unknown, subresource = '', query: object = {}): Promise<T> {
    const options = setHeaderOptions('Content-Type', CONTENT_TYPES[type]);
    return (await this.#call('patch', subresource, { name, body, ...query }, options)) as T;
  }

  async replace(body: T, subresource = ''): Promise<T> {
    return (await this.#call('replace', subresource, { name: body.metadata?.name ?? '', body })) as T;
  }

  delete(name: string, query: object = {}): Promise<unknown> {
    return this.#call('delete', '', { name, ...query });
  }

  deleteCollection(selection: Selection): Promise<unknown> {
    return this.#call('deleteCollection', '', selection);
  }

  watch(query: Selection & { readonly resourceVersion?: string }): Promise<Watching<T>> {
    return Watching.open<T>(this.#cluster.config, this.#path(this.#namespace), { ...query });
  }

  watchAll(query: Selection & { readonly resourceVersion?: string }): Promise<Watching<T>> {
    return Watching.open<T>(this.#cluster.config, this.#path(''), { ...query });
  }

  /** Where its collection is, of one namespace or, with none, of all. */
  #path(namespace: string): string {
    const { group, version, resource } = this.kind;
    const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    return namespace === '' ? `${root}/${resource}` : `${root}/namespaces/${namespace}/${resource}`;
  }

  #call(verb: string, subresource: string, parameters: object, options?: ConfigurationOptions): Promise<unknown> {
    const namespaced = this.kind.scope === 'Namespaced';
    const suffix = subresource === '' ? '' : `${subresource.charAt(0).toUpperCase()}${subresource.slice(1)}`;
    const method = this.#method(`${verb}${namespaced ? 'Namespaced' : ''}${this.kind.kind}${suffix}`);
    return method(namespaced ? { namespace: this.#namespace, ...parameters } : parameters, options);
  }

  #method(name: string): Method {
    const api = this.#cluster.api(this.kind.api) as unknown as Record<string, Method | undefined>;
    const method = api[name];
    if (method === undefined) throw new TypeError(`the client library has no ${name}`);
    return method.bind(api);
  }
}
