import type { KubeObject } from '@gantry/objects';
import type { ObjectResponse } from './object-response.ts';
import type { ResourceVersion, StoredObject } from '../storage/object-store.ts';
import { type EncodeProtobuf, SharedResponse } from './object-response.ts';
import type { RetainedBytes } from './retained-bytes.ts';

/** One revision of one object, shared by all readers. */
export interface Entry {
  readonly key: string;
  readonly resourceVersion: ResourceVersion;
  readonly response: ObjectResponse;
}

/** An entry of a cache, with its stored size. */
export interface CachedEntry extends Entry {
  readonly bytes: number;
}

/** An entry of a stored object, with the resourceVersion set in the object. */
export function createEntry(stored: StoredObject, encode: EncodeProtobuf, retained?: RetainedBytes): CachedEntry {
  const object = withVersion(stored.object as KubeObject, stored.resourceVersion);
  const { key, resourceVersion, bytes } = stored;
  return { key, resourceVersion, bytes, response: new SharedResponse(object, encode, retained) };
}

/** The same object with another version, for DELETED events. */
export function entryAt(
  entry: Entry,
  resourceVersion: ResourceVersion,
  encode: EncodeProtobuf,
  retained?: RetainedBytes,
): Entry {
  const object = withVersion(entry.response.object, resourceVersion);
  return { key: entry.key, resourceVersion, response: new SharedResponse(object, encode, retained) };
}

/** Returns `object` with this resourceVersion. Returns the same object if it already has it. */
export function withVersion(object: KubeObject, resourceVersion: ResourceVersion): KubeObject {
  const text = String(resourceVersion);
  if (object.metadata.resourceVersion === text) return object;
  return { ...object, metadata: { ...object.metadata, resourceVersion: text } };
}
