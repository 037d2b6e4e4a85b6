import { formatKey, type KubeObject, type ObjectKey, parseApiVersion } from '@gantry/objects';

/** What a reconcile is given: the key of an object, with its group and kind where a controller handles objects of many kinds. */
export interface ReconcileKey extends ObjectKey {
  readonly group?: string;
  readonly kind?: string;
}

/** The key of an object among objects of all kinds. All versions of a kind are the same objects. */
export function kindKeyOf({ apiVersion, kind, metadata }: KubeObject): Required<ReconcileKey> {
  const { group } = parseApiVersion(apiVersion);
  return { group, kind, namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
}

/** Identifies a key among others: in queues and logs. */
export function formatReconcileKey(key: ReconcileKey): string {
  return key.kind === undefined ? formatKey(key) : `${key.kind}.${key.group ?? ''}/${formatKey(key)}`;
}
