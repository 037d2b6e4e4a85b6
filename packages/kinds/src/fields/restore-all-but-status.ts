import type { KubeObject } from '@gantry/objects';

const KEPT = [
  'deletionTimestamp',
  'generation',
  'selfLink',
  'labels',
  'annotations',
  'finalizers',
  'ownerReferences',
] as const;

/** For status subresources through which nothing of the metadata may be written. Changes `object`. */
export function keepMetadata(object: KubeObject, old: KubeObject): void {
  const to = object.metadata as Record<string, unknown>;
  const from = old.metadata as Record<string, unknown>;
  for (const field of KEPT) {
    if (from[field] === undefined) delete to[field];
    else to[field] = from[field];
  }
}
