import type { JsonObject, KubeObject } from '@gantry/api';
import type { Answer } from '../driver.ts';
import type { ResourceVersion } from '../storage/object-store.ts';
import { type EncodeProtobuf, SharedAnswer } from './answer.ts';

/** One revision of one object, as everybody shares it. */
export interface Entry {
  readonly key: string;
  readonly resourceVersion: ResourceVersion;
  readonly answer: Answer;
}

/** What was read from the store as an entry, with its resourceVersion in the object. */
export function createEntry(
  stored: { readonly key: string; readonly resourceVersion: ResourceVersion; readonly object: JsonObject },
  encode: EncodeProtobuf,
): Entry {
  const object = withVersion(stored.object as unknown as KubeObject, stored.resourceVersion);
  return { key: stored.key, resourceVersion: stored.resourceVersion, answer: new SharedAnswer(object, encode) };
}

/** The same object at another version: what a DELETED event shows. */
export function entryAt(entry: Entry, resourceVersion: ResourceVersion, encode: EncodeProtobuf): Entry {
  const object = withVersion(entry.answer.object, resourceVersion);
  return { key: entry.key, resourceVersion, answer: new SharedAnswer(object, encode) };
}

/** `object` with this resourceVersion; itself when it has it already. */
export function withVersion(object: KubeObject, resourceVersion: ResourceVersion): KubeObject {
  const text = String(resourceVersion);
  if (object.metadata.resourceVersion === text) return object;
  return { ...object, metadata: { ...object.metadata, resourceVersion: text } };
}
