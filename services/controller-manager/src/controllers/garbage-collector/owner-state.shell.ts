import { type ControllerContext, formatReconcileKey, kindKeyOf, type ReconcileKey } from '@gantry/controller-runtime';
import { isReason, type KubeObject, type ObjectKey, type OwnerReference, type Resource } from '@gantry/objects';
import { cachedOwner, describeMissing, groupKindOf, isWithinScope, resourceOf } from './collected-resources.ts';
import { isDeletingDependents, type ObservedOwner } from './plan.ts';

/**
 * An owner is absent when its deletion was seen or the store does not have it; the cache alone does not prove that. `findObject` is
 * not enough here: an object of the same name may be another one, and a kind that is not served is not an absent object.
 */
export async function ownerState(
  object: KubeObject,
  reference: OwnerReference,
  context: ControllerContext,
  memory: OwnerMemory,
  signal: AbortSignal,
): Promise<ObservedOwner['state']> {
  const { cache, events, served } = context;
  if (memory.isGone(reference.uid)) return 'absent';
  const groupKind = groupKindOf(reference);
  const resource = resourceOf(groupKind, served);
  const found = resource === undefined ? 'unserved' : await lookUp(object, reference, resource, context, signal);
  if (found === 'unserved') {
    memory.waits(kindKeyOf(object), groupKind);
    return 'unknown';
  }
  const namespace = object.metadata.namespace ?? '';
  const named = found === 'absent' ? cache.withUid(reference.uid) : undefined;
  // One in scope has another name or kind than the reference says: its namespace is right.
  const isElsewhere = named !== undefined && !isWithinScope(named, object);
  if (found === 'misplaced' || isElsewhere) {
    events.event(object, 'Warning', 'OwnerRefInvalidNamespace', describeMissing(reference, namespace));
  }
  return found === 'misplaced' ? 'unknown' : found;
}

/** `misplaced`: an object of cluster scope cannot have an owner in a namespace. `unserved`: the kind is not served. */
async function lookUp(
  object: KubeObject,
  reference: OwnerReference,
  resource: Resource,
  { cache, client }: ControllerContext,
  signal: AbortSignal,
): Promise<'misplaced' | 'unserved' | 'present' | 'deletingDependents' | 'absent'> {
  const namespace = object.metadata.namespace ?? '';
  const { namespaced } = resource;
  if (namespaced && namespace === '') return 'misplaced';
  const stateOf = (owner: KubeObject) => (isDeletingDependents(owner) ? 'deletingDependents' : 'present');
  const cached = cachedOwner(object, reference, cache);
  if (cached !== undefined) return stateOf(cached);
  const key: ObjectKey = { namespace: namespaced ? namespace : '', name: reference.name };
  try {
    const owner = await client.get(resource, key, signal);
    return owner.metadata.uid === reference.uid ? stateOf(owner) : 'absent';
  } catch (error) {
    if (!isReason(error, 'NotFound')) throw error;
    // Without the object's name the resource itself is missing: its objects are unknown.
    return error.toStatus().details?.name === reference.name ? 'absent' : 'unserved';
  }
}

/** How many deleted owners are remembered; older ones are read from the store again. */
const MAX_GONE = 5000;

/** What the collector remembers for a term: deleted owners, and objects with an owner of a kind that is not served. */
export class OwnerMemory {
  readonly #gone = new Set<string>();
  readonly #unresolved = new Map<string, Map<string, ReconcileKey>>();

  /** An object with this uid has been deleted, for good: a uid is never used again. */
  deleted(uid: string): void {
    this.#gone.add(uid);
    if (this.#gone.size <= MAX_GONE) return;
    const [oldest = ''] = this.#gone;
    this.#gone.delete(oldest);
  }

  isGone(uid: string): boolean {
    return this.#gone.has(uid);
  }

  /** An object has an owner of a kind that is not served. */
  waits(key: ReconcileKey, groupKind: string): void {
    const waiting = this.#unresolved.get(groupKind) ?? new Map<string, ReconcileKey>();
    this.#unresolved.set(groupKind, waiting.set(formatReconcileKey(key), key));
  }

  /** Returns and forgets the objects that wait for a kind. */
  takeWaiting(groupKind: string): readonly ReconcileKey[] {
    const waiting = this.#unresolved.get(groupKind);
    this.#unresolved.delete(groupKind);
    return [...(waiting?.values() ?? [])];
  }

  /** The object waits for nothing: it is gone, or is about to be reconciled. */
  forget(key: ReconcileKey): void {
    const id = formatReconcileKey(key);
    for (const [groupKind, waiting] of this.#unresolved) {
      if (waiting.delete(id) && waiting.size === 0) this.#unresolved.delete(groupKind);
    }
  }

  clear(): void {
    this.#gone.clear();
    this.#unresolved.clear();
  }
}
