import type { ObjectResponse } from '../../cache/object-response.ts';

/** The object as everybody is shown it, in bytes that are shared. */
export function wholeJson(response: ObjectResponse): Uint8Array {
  return response.json();
}

/** An object's metadata without managed fields, for caches of all resources. Rarely requested, so the bytes are not kept. */
export function metadataJson({ object }: ObjectResponse): Uint8Array {
  const { managedFields: _managed, ...metadata } = object.metadata;
  return Buffer.from(JSON.stringify({ kind: object.kind, apiVersion: object.apiVersion, metadata }));
}
