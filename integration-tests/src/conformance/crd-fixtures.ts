import {
  ApiextensionsV1Api,
  CustomObjectsApi,
  type V1CustomResourceDefinition,
  type V1CustomResourceDefinitionVersion,
  type V1JSONSchemaProps,
} from '@kubernetes/client-node';
import { eventually } from '../harness/eventually.ts';
import type { World } from './world.ts';

const ESTABLISHED_MS = 120_000;

export interface DefinitionOptions {
  readonly scope?: 'Cluster' | 'Namespaced';
  readonly group?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly versions?: readonly V1CustomResourceDefinitionVersion[];
  readonly spec?: Partial<V1CustomResourceDefinition['spec']>;
}

/** A schema that allows everything. */
export function anything(): V1JSONSchemaProps {
  return { type: 'object', x_kubernetes_preserve_unknown_fields: true };
}

export function version(
  name: string,
  schema: V1JSONSchemaProps,
  change: Partial<V1CustomResourceDefinitionVersion> = {},
): V1CustomResourceDefinitionVersion {
  return { name, served: true, storage: true, schema: { openAPIV3Schema: schema }, ...change };
}

/** A definition with unique names. */
export function definition(world: World, options: DefinitionOptions = {}): V1CustomResourceDefinition {
  const singular = world.unique('thing');
  const group = options.group ?? `${world.unique('group')}.example.com`;
  return {
    metadata: { name: `${singular}s.${group}`, labels: { ...options.labels } },
    spec: {
      group,
      scope: options.scope ?? 'Cluster',
      names: { plural: `${singular}s`, singular, kind: singular, listKind: `${singular}List` },
      versions: [...(options.versions ?? [version('v1', anything())])],
      ...options.spec,
    },
  };
}

/** Creates a definition and waits until its resources are served; it goes when the test is over. */
export async function establish(world: World, wanted: V1CustomResourceDefinition): Promise<V1CustomResourceDefinition> {
  const api = world.api(ApiextensionsV1Api);
  const name = wanted.metadata?.name ?? '';
  const created = await api.createCustomResourceDefinition({ body: wanted });
  world.atEnd(() => api.deleteCustomResourceDefinition({ name }));
  await eventually(`${name} is established`, ESTABLISHED_MS, async () => {
    const { status } = await api.readCustomResourceDefinition({ name });
    return (status?.conditions ?? []).some((one) => one.type === 'Established' && one.status === 'True');
  });
  const resources = new CustomResources(world, created);
  // Several at once, since several API servers may answer and each has to have heard of it.
  await eventually(`${name} is served`, ESTABLISHED_MS, async () => {
    await Promise.all(Array.from({ length: 5 }, () => resources.list()));
    return true;
  });
  return created;
}

export interface CustomObject {
  apiVersion?: string;
  kind?: string;
  metadata: { name: string; resourceVersion?: string; [field: string]: unknown };
  [field: string]: unknown;
}

/** The objects of a definition in one of its served versions, and in one namespace if they are namespaced. */
export class CustomResources {
  readonly at: { readonly group: string; readonly version: string; readonly plural: string };
  readonly kind: string;
  readonly path: string;
  readonly #api: CustomObjectsApi;
  readonly #namespace: string;

  constructor(world: World, { spec }: V1CustomResourceDefinition, namespace = '', inVersion?: string) {
    const served = inVersion ?? spec.versions.find((one) => one.served)?.name ?? '';
    this.at = { group: spec.group, version: served, plural: spec.names.plural };
    this.kind = spec.names.kind;
    this.#api = world.api(CustomObjectsApi);
    this.#namespace = namespace;
    const scope = namespace === '' ? '' : `namespaces/${namespace}/`;
    this.path = `/apis/${spec.group}/${served}/${scope}${spec.names.plural}`;
  }

  object(name: string, fields: object = {}): CustomObject {
    return { apiVersion: `${this.at.group}/${this.at.version}`, kind: this.kind, metadata: { name }, ...fields };
  }

  async create(body: CustomObject): Promise<CustomObject> {
    const answer: unknown = await (this.#namespace === ''
      ? this.#api.createClusterCustomObject({ ...this.at, body })
      : this.#api.createNamespacedCustomObject({ ...this.at, namespace: this.#namespace, body }));
    return answer as CustomObject;
  }

  async get(name: string): Promise<CustomObject> {
    const answer: unknown = await (this.#namespace === ''
      ? this.#api.getClusterCustomObject({ ...this.at, name })
      : this.#api.getNamespacedCustomObject({ ...this.at, namespace: this.#namespace, name }));
    return answer as CustomObject;
  }

  async list(query: object = {}): Promise<readonly CustomObject[]> {
    const answer: unknown = await (this.#namespace === ''
      ? this.#api.listClusterCustomObject({ ...this.at, ...query })
      : this.#api.listNamespacedCustomObject({ ...this.at, namespace: this.#namespace, ...query }));
    return (answer as { items: CustomObject[] }).items;
  }

  /** A JSON patch or a merge patch, told apart by their shape as the client library does. */
  async patch(name: string, body: unknown, options?: Parameters<CustomObjectsApi['patchClusterCustomObject']>[1]) {
    const answer: unknown = await (this.#namespace === ''
      ? this.#api.patchClusterCustomObject({ ...this.at, name, body }, options)
      : this.#api.patchNamespacedCustomObject({ ...this.at, namespace: this.#namespace, name, body }, options));
    return answer as CustomObject;
  }

  delete(name: string): Promise<unknown> {
    return this.#namespace === ''
      ? this.#api.deleteClusterCustomObject({ ...this.at, name })
      : this.#api.deleteNamespacedCustomObject({ ...this.at, namespace: this.#namespace, name });
  }
}
