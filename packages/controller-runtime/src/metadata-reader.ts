import { apiVersionOf, type KubeObject, type Resource, StatusError } from '@gantry/objects';
import type { ListOptions, ObjectReader, WatchOptions } from '@gantry/client';
import { groupResource } from './served-resource.ts';

/**
 * Reads the metadata of each object of a resource, without managed fields, with the kind of the resource. Annotations can be as large as the
 * object: the one of `kubectl apply` contains it. Fails when a server sends an object without valid metadata: users of a cache rely on it.
 */
export function metadataReader(
  client: ObjectReader,
  resource: Resource,
  annotations: 'kept' | 'dropped',
): Pick<ObjectReader, 'list' | 'watch'> {
  return reducedReader(client, (object) => bareObject(object, resource, annotations));
}

/**
 * Reads objects without managed fields, which take more memory than the rest of most objects. An update of such an object leaves those that the
 * server has.
 */
export function unmanagedReader(client: ObjectReader): Pick<ObjectReader, 'list' | 'watch'> {
  return reducedReader(client, (object) => {
    if (object.metadata?.managedFields === undefined) return object;
    const { managedFields: _managed, ...metadata } = object.metadata;
    return { ...object, metadata };
  });
}

function reducedReader(
  client: ObjectReader,
  reduce: (object: KubeObject) => KubeObject,
): Pick<ObjectReader, 'list' | 'watch'> {
  const reduced = <T extends KubeObject>(object: T) => reduce(object) as T;
  return {
    list: async <T extends KubeObject>(of: Resource<T>, options: ListOptions, signal: AbortSignal) => {
      const list = await client.list(of, options, signal);
      return { ...list, items: list.items.map(reduced) };
    },
    watch: async function* <T extends KubeObject>(of: Resource<T>, options: WatchOptions, signal: AbortSignal) {
      for await (const batch of client.watch(of, options, signal)) {
        yield batch.map((event) => (event.type === 'BOOKMARK' ? event : { ...event, object: reduced(event.object) }));
      }
    },
  };
}

function bareObject(object: unknown, resource: Resource, annotated: 'kept' | 'dropped'): KubeObject {
  if (!hasMetadata(object)) {
    throw StatusError.internal(`what the server sends of ${groupResource(resource)} is no object`);
  }
  const { managedFields: _managed, annotations, ...rest } = object.metadata;
  const metadata = annotated === 'kept' && annotations !== undefined ? { ...rest, annotations } : rest;
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata };
}

function hasMetadata(object: unknown): object is Pick<KubeObject, 'metadata'> {
  if (!isRecord(object) || !isRecord(object['metadata'])) return false;
  const { name, namespace, ownerReferences, finalizers } = object['metadata'];
  return (
    isText(name) &&
    isText(namespace ?? '') &&
    isListOf(ownerReferences ?? [], isOwnerReference) &&
    isListOf(finalizers ?? [], isText)
  );
}

function isOwnerReference(value: unknown): boolean {
  return isRecord(value) && [value['apiVersion'], value['kind'], value['name'], value['uid']].every(isText);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isListOf(value: unknown, is: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(is);
}
