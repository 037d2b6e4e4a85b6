import type { ObjectMeta, OwnerReference } from '@gantry/objects';

/** An object of any kind, as far as deletion is concerned. */
export interface Dependent {
  readonly kindId: string;
  readonly kind: string;
  readonly metadata: Pick<ObjectMeta, 'name' | 'namespace' | 'uid' | 'ownerReferences'>;
}

/**
 * What the garbage collector deletes after the object with this uid: what it owns, and what that owns. An object with another owner stays,
 * unless that goes, too.
 */
export function dependentsOf(uid: string, all: readonly Dependent[]): readonly Dependent[] {
  const gone = new Set([uid]);
  const owned = new Map<string, Dependent[]>();
  for (const one of all)
    for (const reference of one.metadata.ownerReferences ?? []) {
      const of = owned.get(reference.uid);
      if (of === undefined) owned.set(reference.uid, [one]);
      else of.push(one);
    }
  const found: Dependent[] = [];
  const queue = [uid];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    for (const one of owned.get(next) ?? []) {
      const { uid: own = '', ownerReferences = [] } = one.metadata;
      if (gone.has(own) || !ownerReferences.every((reference: OwnerReference) => gone.has(reference.uid))) continue;
      gone.add(own);
      found.push(one);
      queue.push(own);
    }
  }
  return found;
}
