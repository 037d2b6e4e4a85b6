import { type ControllerContext, formatReconcileKey, kindKeyOf, type ReconcileKey } from '@gantry/controller-runtime';
import { isReason, type KubeObject, type ObjectKey, type OwnerReference, type Resource } from '@gantry/objects';
import { cachedOwner, describeMissing, groupKindOf, isWithinScope, resourceOf } from './collected-resources.ts';
import { isDeletingDependents, type ObservedOwner } from './plan.ts';

/**
 * The state of an owner. It is absent if its deletion was seen or the store does not have it; a missing cache entry is not proof.
 * `findObject` is not sufficient here: an object of the same name may be a different one, and a kind that is not served does not mean that
 * the object is absent.
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
  // If the object with this uid is in scope, the reference has a wrong name or kind, but a correct namespace.
  const isElsewhere = named !== undefined && !isWithinScope(named, object);
  if (found === 'misplaced' || isElsewhere) {
    events.event(object, 'Warning', 'OwnerRefInvalidNamespace', describeMissing(reference, namespace));
  }
  return found === 'misplaced' ? 'unknown' : found;
}

/** `misplaced`: a cluster-scoped object cannot have a namespaced owner. `unserved`: the kind is not served. */
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
    // If the error does not name the object, the resource itself is missing, and nothing is known about its objects.
    return error.toStatus().details?.name === reference.name ? 'absent' : 'unserved';
  }
}

/** The maximum number of remembered deleted owners; older ones are read from the store again. */
const MAX_GONE = 5000;

/** The collector's memory for one term: deleted owners, and objects with an owner of a kind that is not served. */
export class OwnerMemory {
  readonly #gone = new Set<string>();
  readonly #unresolved = new Map<string, Map<string, ReconcileKey>>();

  /** Records that the object with this uid has been deleted. Uids are never reused. */
  deleted(uid: string): void {
    this.#gone.add(uid);
    if (this.#gone.size <= MAX_GONE) return;
    const [oldest = ''] = this.#gone;
    this.#gone.delete(oldest);
  }

  isGone(uid: string): boolean {
    return this.#gone.has(uid);
  }

  /** Records that an object has an owner of a kind that is not served. */
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

  /** Forgets an object that is gone or about to be reconciled. */
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
