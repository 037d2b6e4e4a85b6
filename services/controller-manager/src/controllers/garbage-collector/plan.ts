import type { Instant, Plan } from '@gantry/base';
import { FOREGROUND_FINALIZER, type KubeObject, ORPHAN_FINALIZER, type OwnerReference } from '@gantry/objects';

/** The known state of one owner of an object. */
export interface ObservedOwner {
  readonly reference: OwnerReference;
  /**
   * `present`: exists with that uid. `deletingDependents`: present, but in foreground deletion. `absent`: verified at the store. `unknown`:
   * the kind is not served, so its state cannot be determined.
   */
  readonly state: 'present' | 'deletingDependents' | 'absent' | 'unknown';
}

/** The input of the plan. */
export interface ObservedGarbage {
  readonly object: KubeObject;
  readonly owners: readonly ObservedOwner[];
  /** Objects that name this one as an owner. */
  readonly dependents: readonly KubeObject[];
  /** Whether the object's foreground deletion waits for itself, through other objects in foreground deletion. */
  readonly deadlock: 'circle' | 'none';
}

export type Action =
  | { readonly kind: 'delete'; readonly propagation: 'Background' | 'Foreground' | 'Orphan' }
  /** These owners are gone or being deleted; others remain. */
  | { readonly kind: 'dropOwners'; readonly uids: readonly string[] }
  /** The object no longer blocks the deletion of its owners. */
  | { readonly kind: 'unblockOwners' }
  | { readonly kind: 'orphan'; readonly dependent: KubeObject }
  | { readonly kind: 'removeFinalizer'; readonly finalizer: string }
  /** A dependent that blocks its owner's foreground deletion must be reconciled. */
  | { readonly kind: 'enqueue'; readonly dependent: KubeObject };

/** When a kind becomes served, its dependents are queued; this interval covers a missed event. */
const UNKNOWN_OWNER_MS = 60_000;

/**
 * Deletes an object whose owners are gone, and continues its foreground or orphaning deletion. An owner of a kind that is not served is
 * checked again later.
 */
export function planGarbage(observed: ObservedGarbage, now: Instant): Plan<Action> {
  const requeueAt = observed.owners.some(({ state }) => state === 'unknown') ? now + UNKNOWN_OWNER_MS : undefined;
  return { actions: actionsFor(observed), requeueAt };
}

function actionsFor(observed: ObservedGarbage): readonly Action[] {
  const { object } = observed;
  if (object.metadata.deletionTimestamp !== undefined) {
    if (hasFinalizer(object, ORPHAN_FINALIZER)) return planOrphaning(observed);
    return hasFinalizer(object, FOREGROUND_FINALIZER) ? planForeground(observed) : [];
  }
  return planByOwners(observed);
}

/** Whether an object is being deleted and waits for its dependents. */
export function isDeletingDependents(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined && hasFinalizer(object, FOREGROUND_FINALIZER);
}

/** Whether an object blocks this owner's foreground deletion. */
export function isBlocking({ blockOwnerDeletion }: OwnerReference): boolean {
  return blockOwnerDeletion === true;
}

/**
 * Whether an object's foreground deletion waits for itself: through a chain of owners in foreground deletion that leads back to the object.
 * The circle is found when its last member is marked, in any order, because each member is reconciled then.
 */
export function isInCircle(
  object: KubeObject,
  ownerOf: (dependent: KubeObject, reference: OwnerReference) => KubeObject | undefined,
): boolean {
  const seen = new Set<string | undefined>();
  const pending = [object];
  for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
    for (const reference of (current.metadata.ownerReferences ?? []).filter(isBlocking)) {
      const owner = ownerOf(current, reference);
      if (owner === undefined || !isDeletingDependents(owner)) continue;
      if (owner.metadata.uid === object.metadata.uid) return true;
      if (seen.has(owner.metadata.uid)) continue;
      seen.add(owner.metadata.uid);
      pending.push(owner);
    }
  }
  return false;
}

function planOrphaning({ dependents }: ObservedGarbage): readonly Action[] {
  if (dependents.length === 0) return [{ kind: 'removeFinalizer', finalizer: ORPHAN_FINALIZER }];
  const orphaned = dependents.map((dependent): Action => ({ kind: 'orphan', dependent }));
  return [...orphaned, { kind: 'removeFinalizer', finalizer: ORPHAN_FINALIZER }];
}

function planForeground({ object, dependents, deadlock }: ObservedGarbage): readonly Action[] {
  const blocking = dependents.filter((dependent) =>
    dependent.metadata.ownerReferences?.some(
      (reference) => reference.uid === object.metadata.uid && isBlocking(reference),
    ),
  );
  if (blocking.length === 0) return [{ kind: 'removeFinalizer', finalizer: FOREGROUND_FINALIZER }];
  if (deadlock === 'circle') return [{ kind: 'unblockOwners' }];
  return dependents
    .filter((dependent) => !isDeletingDependents(dependent))
    .map((dependent): Action => ({ kind: 'enqueue', dependent }));
}

function planByOwners({ object, owners, dependents }: ObservedGarbage): readonly Action[] {
  if (owners.length === 0) return [];
  const solid = owners.filter(({ state }) => state === 'present' || state === 'unknown');
  const dangling = owners.filter(({ state }) => state === 'absent');
  const waiting = owners.filter(({ state }) => state === 'deletingDependents');
  if (solid.length > 0) {
    const uids = [...dangling, ...waiting].map(({ reference }) => reference.uid);
    return uids.length === 0 ? [] : [{ kind: 'dropOwners', uids }];
  }
  if (waiting.length > 0 && dependents.length > 0) {
    return [{ kind: 'delete', propagation: 'Foreground' }];
  }
  if (hasFinalizer(object, ORPHAN_FINALIZER)) return [{ kind: 'delete', propagation: 'Orphan' }];
  return [{ kind: 'delete', propagation: hasFinalizer(object, FOREGROUND_FINALIZER) ? 'Foreground' : 'Background' }];
}

function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}
