import { apiVersionOf, isReason, type KubeObject, type Resource, StatusError } from '@gantry/objects';
import type { ListOptions, ObjectList, ObjectReader, WatchOptions } from '@gantry/client';
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
      const listed = (limit: number) => listPages(client, of, { ...options, limit }, reduced, signal);
      try {
        return await listed(PAGE_SIZE);
      } catch (error) {
        // The server no longer has the version of the first page.
        if (!isReason(error, 'Expired')) throw error;
        return await listed(0);
      }
    },
    watch: async function* <T extends KubeObject>(of: Resource<T>, options: WatchOptions, signal: AbortSignal) {
      for await (const batch of client.watch(of, options, signal)) {
        yield batch.map((event) => (event.type === 'BOOKMARK' ? event : { ...event, object: reduced(event.object) }));
      }
    },
  };
}

/** Objects of a page. */
const PAGE_SIZE = 500;

/**
 * Lists in pages of `options.limit`, all of the version of the first one. A long list would be in memory as a text and with all that is dropped,
 * and the heap keeps the size that it had then.
 */
async function listPages<T extends KubeObject>(
  client: ObjectReader,
  of: Resource<T>,
  options: ListOptions,
  reduced: (object: T) => T,
  signal: AbortSignal,
): Promise<ObjectList<T>> {
  const items: T[] = [];
  let page = await client.list(of, options, signal);
  for (;;) {
    for (const item of page.items) items.push(reduced(item));
    const { continueToken } = page;
    if (continueToken === '') return { ...page, items };
    // The token has the version.
    page = await client.list(of, { ...options, resourceVersion: '', continueToken }, signal);
  }
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
