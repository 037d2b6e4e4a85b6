import type { KubeObject } from '@gantry/api';
import type { Answer } from '../driver.ts';
import type { ResourceVersion, StoredObject } from '../storage/object-store.ts';
import { type EncodeProtobuf, SharedAnswer } from './answer.ts';
import type { RetainedBytes } from './retained-bytes.ts';

/** One revision of one object, as everybody shares it. */
export interface Entry {
  readonly key: string;
  readonly resourceVersion: ResourceVersion;
  readonly answer: Answer;
}

/** One that a cache holds, with the size of what is stored. */
export interface CachedEntry extends Entry {
  readonly bytes: number;
}

/** What was read from the store as an entry, with its resourceVersion in the object. */
export function createEntry(stored: StoredObject, encode: EncodeProtobuf, retained?: RetainedBytes): CachedEntry {
  const object = withVersion(stored.object as unknown as KubeObject, stored.resourceVersion);
  const { key, resourceVersion, bytes } = stored;
  return { key, resourceVersion, bytes, answer: new SharedAnswer(object, encode, retained) };
}

/** The same object at another version: what a DELETED event shows. */
export function entryAt(
  entry: Entry,
  resourceVersion: ResourceVersion,
  encode: EncodeProtobuf,
  retained?: RetainedBytes,
): Entry {
  const object = withVersion(entry.answer.object, resourceVersion);
  return { key: entry.key, resourceVersion, answer: new SharedAnswer(object, encode, retained) };
}

/** `object` with this resourceVersion; itself when it has it already. */
export function withVersion(object: KubeObject, resourceVersion: ResourceVersion): KubeObject {
  const text = String(resourceVersion);
  if (object.metadata.resourceVersion === text) return object;
  return { ...object, metadata: { ...object.metadata, resourceVersion: text } };
}
