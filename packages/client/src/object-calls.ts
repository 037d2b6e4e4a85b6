import { keyOf, type KubeObject, type ObjectKey, type Resource } from '@gantry/objects';
import type {
  ApplyOptions,
  DeleteRequest,
  ListOptions,
  ObjectClient,
  ObjectList,
  ObjectTransport,
  ObjectWrite,
  Patch,
  SubresourceKey,
  WatchEvent,
  WatchOptions,
  WriteResult,
} from './object-client.ts';

/** The typed writes of every client. Each calls `write` of the subclass, which is the transport. */
export abstract class ObjectCalls implements ObjectClient {
  abstract get<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, signal: AbortSignal): Promise<T>;
  abstract list<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions,
    signal: AbortSignal,
  ): Promise<ObjectList<T>>;
  abstract watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterable<readonly WatchEvent<T>[]>;
  abstract write(write: ObjectWrite, signal: AbortSignal): Promise<KubeObject>;
  abstract batch(writes: readonly ObjectWrite[], signal: AbortSignal): Promise<readonly WriteResult[]>;

  async create<T extends KubeObject>(resource: Resource<T>, object: NoInfer<T>, signal: AbortSignal): Promise<T> {
    const { namespace = '' } = object.metadata;
    return (await this.write({ verb: 'create', resource, namespace, object }, signal)) as T;
  }

  async update<T extends KubeObject>(resource: Resource<T>, object: NoInfer<T>, signal: AbortSignal): Promise<T> {
    return (await this.write({ verb: 'update', resource, key: keyOf(object), object }, signal)) as T;
  }

  updateStatus<T extends KubeObject>(resource: Resource<T>, object: NoInfer<T>, signal: AbortSignal): Promise<T> {
    return this.updateSubresource(resource, 'status', object, signal);
  }

  async updateSubresource<T extends KubeObject>(
    resource: Resource<T>,
    subresource: string,
    object: NoInfer<T>,
    signal: AbortSignal,
  ): Promise<T> {
    return (await this.write({ verb: 'update', resource, key: keyOf(object), object, subresource }, signal)) as T;
  }

  async createSubresource<S extends KubeObject>(
    resource: Resource,
    { namespace, name, subresource }: SubresourceKey,
    object: S,
    signal: AbortSignal,
  ): Promise<S> {
    return (await this.write({ verb: 'create', resource, namespace, name, object, subresource }, signal)) as S;
  }

  async patch<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    patch: Patch,
    signal: AbortSignal,
  ): Promise<T> {
    return (await this.write(patchWrite(resource, key, patch), signal)) as T;
  }

  async apply<T extends KubeObject, C extends KubeObject>(
    resource: Resource<T>,
    configuration: C,
    options: ApplyOptions,
    signal: AbortSignal,
  ): Promise<T> {
    const how = { patch: configuration, patchType: 'application/apply-patch+yaml', ...options } as const;
    return (await this.write({ verb: 'patch', resource, key: keyOf(configuration), ...how }, signal)) as T;
  }

  delete(resource: Resource, key: ObjectKey, request: DeleteRequest, signal: AbortSignal): Promise<KubeObject> {
    return this.write({ verb: 'delete', resource, key, options: deleteOptions(request) }, signal);
  }
}

/**
 * Creates an `ObjectClient` over a transport.
 *
 * @example
 * ```ts
 * const client = createObjectClient(transport);
 * const pod = await client.get(PODS, { namespace: 'default', name: 'web' }, signal);
 * const { items } = await client.list(PODS, { namespace: 'default', labelSelector: 'app=web' }, signal);
 * ```
 */
export function createObjectClient(transport: ObjectTransport): ObjectClient {
  return new TransportCalls(transport);
}

class TransportCalls extends ObjectCalls {
  override readonly get: ObjectTransport['get'];
  override readonly list: ObjectTransport['list'];
  override readonly watch: ObjectTransport['watch'];
  override readonly write: ObjectTransport['write'];
  override readonly batch: ObjectTransport['batch'];

  constructor(transport: ObjectTransport) {
    super();
    this.get = (resource, key, signal) => transport.get(resource, key, signal);
    this.list = (resource, options, signal) => transport.list(resource, options, signal);
    this.watch = (resource, options, signal) => transport.watch(resource, options, signal);
    this.write = (write, signal) => transport.write(write, signal);
    this.batch = (writes, signal) => transport.batch(writes, signal);
  }
}

function patchWrite(resource: Resource, key: ObjectKey, patch: Patch): Extract<ObjectWrite, { verb: 'patch' }> {
  const { subresource } = patch;
  const part = subresource === undefined ? {} : { subresource };
  if ('merge' in patch) {
    return { verb: 'patch', resource, key, patch: patch.merge, patchType: 'application/merge-patch+json', ...part };
  }
  if ('strategic' in patch) {
    const patchType = 'application/strategic-merge-patch+json';
    return { verb: 'patch', resource, key, patch: patch.strategic, patchType, ...part };
  }
  return { verb: 'patch', resource, key, patch: patch.json, patchType: 'application/json-patch+json', ...part };
}

function deleteOptions({ uid, resourceVersion, ...options }: DeleteRequest) {
  const preconditions = {
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
  return Object.keys(preconditions).length === 0 ? options : { ...options, preconditions };
}
