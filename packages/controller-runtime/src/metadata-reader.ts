import { apiVersionOf, type KubeObject, type ResourceRef, StatusError } from '@gantry/api';
import type { ListOptions, ObjectReader, WatchOptions } from '@gantry/client';
import { groupResource, type ServedResource } from './served-resource.ts';

/**
 * Reads a resource as caches keep it: of each object the metadata without annotations, under the kind by which it was asked
 * for. Fails where a server sends something else, since whoever reads a cache trusts that it holds objects.
 */
export function metadataReader(client: ObjectReader, resource: ServedResource): Pick<ObjectReader, 'list' | 'watch'> {
  const bare = <T extends KubeObject>(object: T) => bareObject(object, resource) as T;
  return {
    list: async <T extends KubeObject>(of: ResourceRef, options: ListOptions, signal: AbortSignal) => {
      const list = await client.list<T>(of, options, signal);
      return { ...list, items: list.items.map(bare) };
    },
    watch: async function* <T extends KubeObject>(of: ResourceRef, options: WatchOptions, signal: AbortSignal) {
      for await (const batch of client.watch<T>(of, options, signal)) {
        yield batch.map((event) => (event.type === 'BOOKMARK' ? event : { ...event, object: bare(event.object) }));
      }
    },
  };
}

function bareObject(object: unknown, resource: ServedResource): KubeObject {
  if (!hasMetadata(object)) {
    throw StatusError.internal(`what the server sends of ${groupResource(resource)} is no object`);
  }
  const { managedFields: _managed, annotations: _annotations, ...metadata } = object.metadata;
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
