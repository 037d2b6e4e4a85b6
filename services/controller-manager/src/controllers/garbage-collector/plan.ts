import type { Instant, Plan } from '@gantry/base';
import { FOREGROUND_FINALIZER, type KubeObject, ORPHAN_FINALIZER, type OwnerReference } from '@gantry/objects';

/** What is known of one owner that an object names. */
export interface ObservedOwner {
  readonly reference: OwnerReference;
  /**
   * `present` with that uid; `deletingDependents`: present, but being deleted in the foreground; `absent`: verified at the
   * store; `unknown`: of a kind that is not served, so that nothing can be said of it.
   */
  readonly state: 'present' | 'deletingDependents' | 'absent' | 'unknown';
}

/** What the plan looks at. */
export interface ObservedGarbage {
  readonly object: KubeObject;
  readonly owners: readonly ObservedOwner[];
  /** Objects that name this one as an owner. */
  readonly dependents: readonly KubeObject[];
  /** Whether the object's foreground deletion waits, over others that do the same, for itself. */
  readonly deadlock: 'circle' | 'none';
}

export type Action =
  | { readonly kind: 'delete'; readonly propagation: 'Background' | 'Foreground' | 'Orphan' }
  /** These owners are gone or going, others remain. */
  | { readonly kind: 'dropOwners'; readonly uids: readonly string[] }
  /** The object no longer blocks the deletion of its owners. */
  | { readonly kind: 'unblockOwners' }
  | { readonly kind: 'orphan'; readonly dependent: KubeObject }
  | { readonly kind: 'removeFinalizer'; readonly finalizer: string }
  /** A dependent that blocks its owner's foreground deletion has to be reconciled. */
  | { readonly kind: 'enqueue'; readonly dependent: KubeObject };

/** A kind that begins to be served queues its dependents; this covers a missed event. */
const UNKNOWN_OWNER_MS = 60_000;

/**
 * Deletes an object whose owners are gone, and continues its foreground or orphaning deletion. An owner of a kind that is not
 * served is looked up again after a while.
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

/** Whether an object keeps this owner in its foreground deletion. */
export function isBlocking({ blockOwnerDeletion }: OwnerReference): boolean {
  return blockOwnerDeletion === true;
}

/**
 * Whether an object's foreground deletion waits for itself: it has an owner that waits for it, which has one in turn, and so
 * on back to the object. Found when the last of them is marked, in whatever order they were, since each is looked at then.
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
