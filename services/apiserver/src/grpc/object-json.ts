import type { Answer } from '../driver.ts';

/** The object as everybody is shown it, in bytes that are shared. */
export function wholeJson(answer: Answer): Uint8Array {
  return answer.json();
}

/** Who it is, whose, and what becomes of it: for caches of everything there is. Few ask, so nobody keeps these bytes. */
export function metadataJson({ object }: Answer): Uint8Array {
  const { managedFields: _managed, ...metadata } = object.metadata;
  return Buffer.from(JSON.stringify({ kind: object.kind, apiVersion: object.apiVersion, metadata }));
}
