import { formatKey, type KubeObject, type ObjectKey, parseApiVersion } from '@gantry/objects';

/** The input of a reconcile: an object's key. Group and kind are set by controllers that handle objects of many kinds. */
export interface ReconcileKey extends ObjectKey {
  readonly group?: string;
  readonly kind?: string;
}

/** The key of an object among objects of all kinds. It has no version: all versions of a kind show the same objects. */
export function kindKeyOf({ apiVersion, kind, metadata }: KubeObject): Required<ReconcileKey> {
  const { group } = parseApiVersion(apiVersion);
  return { group, kind, namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
}

/** A unique text for a key, for queues and logs. */
export function formatReconcileKey(key: ReconcileKey): string {
  return key.kind === undefined ? formatKey(key) : `${key.kind}.${key.group ?? ''}/${formatKey(key)}`;
}
