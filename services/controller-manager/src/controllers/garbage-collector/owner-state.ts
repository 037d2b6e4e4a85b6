import { type KubeObject, type ObjectKey, type OwnerReference, StatusError } from '@gantry/api';
import type { Cache, ControllerContext } from '@gantry/controller-runtime';
import type { OwnerMemory } from './owner-memory.ts';
import { isDeletingDependents, type ObservedOwner } from './plan.ts';
import { collectedKey, type CollectedResource, groupKindOf, resourceOf } from './resource-keys.ts';

/** Owners are looked for in the dependent's own namespace, or at cluster scope: nothing owns across namespaces. */
export function isWithinScope(owner: KubeObject, dependent: KubeObject): boolean {
  const namespace = owner.metadata.namespace ?? '';
  return namespace === '' || namespace === (dependent.metadata.namespace ?? '');
}

/** The owner that a reference means, where the cache has it: by its uid, but under no other name, kind or namespace. */
export function cachedOwner(object: KubeObject, reference: OwnerReference, cache: Cache): KubeObject | undefined {
  const owner = cache.withUid?.(reference.uid);
  if (owner === undefined || owner.metadata.name !== reference.name) return undefined;
  return groupKindOf(owner) === groupKindOf(reference) && isWithinScope(owner, object) ? owner : undefined;
}

/** The cache may say that an owner is there; that it is not, only the store may, or its deletion that was seen. */
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
    memory.waits(collectedKey(object), groupKind);
    return 'unknown';
  }
  const namespace = object.metadata.namespace ?? '';
  const isElsewhere = found === 'absent' && cache.withUid?.(reference.uid) !== undefined;
  if (found === 'misplaced' || isElsewhere) {
    events.event(object, 'Warning', 'OwnerRefInvalidNamespace', describeMissing(reference, namespace));
  }
  return found === 'misplaced' ? 'unknown' : found;
}

/** `misplaced`: an object of cluster scope cannot be owned from within a namespace. `unserved`: the kind is not. */
async function lookUp(
  object: KubeObject,
  reference: OwnerReference,
  { group, version, resource, namespaced }: CollectedResource,
  { cache, client }: ControllerContext,
  signal: AbortSignal,
): Promise<'misplaced' | 'unserved' | 'present' | 'deletingDependents' | 'absent'> {
  const namespace = object.metadata.namespace ?? '';
  if (namespaced && namespace === '') return 'misplaced';
  const stateOf = (owner: KubeObject) => (isDeletingDependents(owner) ? 'deletingDependents' : 'present');
  const cached = cachedOwner(object, reference, cache);
  if (cached !== undefined) return stateOf(cached);
  const key: ObjectKey = { namespace: namespaced ? namespace : '', name: reference.name };
  try {
    const owner = await client.get({ group, version, resource }, key, signal);
    return owner.metadata.uid === reference.uid ? stateOf(owner) : 'absent';
  } catch (error) {
    if (!(error instanceof StatusError) || error.reason !== 'NotFound') throw error;
    // Not the object is missing but the resource: nothing can be said of what it holds.
    return error.toStatus().details?.name === reference.name ? 'absent' : 'unserved';
  }
}

function describeMissing({ apiVersion, kind, name, uid }: OwnerReference, namespace: string): string {
  const owner = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
  return `ownerRef ${owner} does not exist in namespace ${JSON.stringify(namespace)}`;
}
