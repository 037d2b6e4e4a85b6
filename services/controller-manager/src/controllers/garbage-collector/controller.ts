import { append } from '@gantry/base';
import { isReason, type KubeObject, type ObjectKey, type OwnerReference, type ResourceDefinition } from '@gantry/api';
import {
  type Cache,
  type ControllerContext,
  type ControllerSpec,
  executeActions,
  type Result,
  type WatchSpec,
} from '@gantry/controller-runtime';
import { ignoreNotFound } from '../ignore-not-found.ts';
import { type Action, isDeletingDependents, isInCircle, type ObservedOwner, planGarbage } from './plan.ts';
import { COLLECTED, collectedKey, definitionOf, parseCollectedKey } from './resource-keys.ts';

/** Deletes what has lost its owners, and sees foreground and orphaning deletions through. Keys name objects of any resource. */
export const garbageCollectorController: ControllerSpec = {
  name: 'garbage-collector',
  eventSource: 'garbage-collector-controller',
  watches: COLLECTED.map(watchCollected),
  workers: 10,
  reconcile,
};

function watchCollected(definition: ResourceDefinition): WatchSpec {
  return { resource: definition, keys: affectedKeys };
}

/** The object itself where it can be garbage or holds a collector's finalizer, its waiting owners, and its dependents once it is gone. */
function affectedKeys(object: KubeObject | undefined, old: KubeObject | undefined, cache: Cache): readonly ObjectKey[] {
  const keys: (ObjectKey | undefined)[] = [];
  const subject = object ?? old;
  if (subject === undefined) return [];
  if (object === undefined || isReplaced(object, old)) {
    const uid = (old ?? subject).metadata.uid ?? '';
    append(keys, (cache.dependentsOf?.(uid) ?? []).map(collectedKey));
  }
  if (object !== undefined) {
    const isOwned = (object.metadata.ownerReferences ?? []).length > 0;
    if (isOwned || object.metadata.deletionTimestamp !== undefined) keys.push(collectedKey(object));
  }
  for (const reference of subject.metadata.ownerReferences ?? []) {
    const owner = cachedOwner(subject, reference, cache);
    if (owner !== undefined && owner.metadata.deletionTimestamp !== undefined) keys.push(collectedKey(owner));
  }
  return keys.filter((key) => key !== undefined);
}

function isReplaced(object: KubeObject, old: KubeObject | undefined): boolean {
  return old !== undefined && old.metadata.uid !== object.metadata.uid;
}

async function reconcile(key: ObjectKey, context: ControllerContext, signal: AbortSignal): Promise<Result> {
  const parsed = parseCollectedKey(key);
  const object = parsed === undefined ? undefined : context.cache.get(parsed.definition, parsed.key);
  if (object === undefined) return {};
  const owners: ObservedOwner[] = [];
  if (object.metadata.deletionTimestamp === undefined) {
    for (const reference of object.metadata.ownerReferences ?? []) {
      owners.push({ reference, state: await ownerState(object, reference, context, signal) });
    }
  }
  const dependents = (context.cache.dependentsOf?.(object.metadata.uid ?? '') ?? []).filter((dependent) =>
    isWithinScope(object, dependent),
  );
  const ownerOf = (of: KubeObject, reference: OwnerReference) => cachedOwner(of, reference, context.cache);
  const deadlock = isDeletingDependents(object) && isInCircle(object, ownerOf) ? 'circle' : 'none';
  const actions = planGarbage({ object, owners, dependents, deadlock });
  const last = actions.filter(({ kind }) => kind === 'removeFinalizer');
  const before = actions.filter(({ kind }) => kind !== 'removeFinalizer');
  await executeActions(before, (action) => execute(object, action, context, signal), { pace: 'full' }, signal);
  for (const action of last) await execute(object, action, context, signal);
  return {};
}

/** Owners are looked for in the dependent's own namespace, or at cluster scope: nothing owns across namespaces. */
function isWithinScope(owner: KubeObject, dependent: KubeObject): boolean {
  const namespace = owner.metadata.namespace ?? '';
  return namespace === '' || namespace === (dependent.metadata.namespace ?? '');
}

function ownerKey(object: KubeObject, definition: ResourceDefinition, name: string): ObjectKey {
  return { namespace: definition.namespaced ? (object.metadata.namespace ?? '') : '', name };
}

function cachedOwner(object: KubeObject, reference: OwnerReference, cache: Cache): KubeObject | undefined {
  const definition = definitionOf(reference);
  if (definition === undefined) return undefined;
  const owner = cache.get(definition, ownerKey(object, definition, reference.name));
  return owner?.metadata.uid === reference.uid ? owner : undefined;
}

/** The cache may say that an owner is there; that it is not, only the store may. */
async function ownerState(
  object: KubeObject,
  reference: OwnerReference,
  { cache, client, events }: ControllerContext,
  signal: AbortSignal,
): Promise<ObservedOwner['state']> {
  const definition = definitionOf(reference);
  if (definition === undefined) return 'unknown';
  const namespace = object.metadata.namespace ?? '';
  if (definition.namespaced && namespace === '') {
    events.event(object, 'Warning', 'OwnerRefInvalidNamespace', describeMissing(reference, namespace));
    return 'unknown';
  }
  const cached = cachedOwner(object, reference, cache);
  if (cached !== undefined) return isDeletingDependents(cached) ? 'deletingDependents' : 'present';
  try {
    const owner = await client.get(definition, ownerKey(object, definition, reference.name), signal);
    if (owner.metadata.uid === reference.uid) return isDeletingDependents(owner) ? 'deletingDependents' : 'present';
  } catch (error) {
    if (!isReason(error, 'NotFound')) throw error;
  }
  const elsewhere = COLLECTED.some((other) => cache.list(other).some(({ metadata }) => metadata.uid === reference.uid));
  if (elsewhere) {
    events.event(object, 'Warning', 'OwnerRefInvalidNamespace', describeMissing(reference, namespace));
  }
  return 'absent';
}

function describeMissing({ apiVersion, kind, name, uid }: OwnerReference, namespace: string): string {
  const owner = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
  return `ownerRef ${owner} does not exist in namespace ${JSON.stringify(namespace)}`;
}

async function execute(
  object: KubeObject,
  action: Action,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  switch (action.kind) {
    case 'delete':
      await deleteObject(object, action.propagation, context, signal);
      break;
    case 'dropOwners': {
      const gone = new Set(action.uids);
      const kept = object.metadata.ownerReferences?.filter(({ uid }) => !gone.has(uid)) ?? [];
      await patchMetadata(object, { ownerReferences: kept }, context, signal);
      break;
    }
    case 'unblockOwners': {
      const ownerReferences = object.metadata.ownerReferences?.map((reference) => ({
        ...reference,
        blockOwnerDeletion: false,
      }));
      await patchMetadata(object, { ownerReferences }, context, signal);
      break;
    }
    case 'orphan': {
      const { dependent } = action;
      const kept = dependent.metadata.ownerReferences?.filter(({ uid }) => uid !== object.metadata.uid) ?? [];
      await patchMetadata(dependent, { ownerReferences: kept.length === 0 ? null : kept }, context, signal);
      break;
    }
    case 'removeFinalizer': {
      const kept = object.metadata.finalizers?.filter((finalizer) => finalizer !== action.finalizer) ?? [];
      await patchMetadata(object, { finalizers: kept.length === 0 ? null : kept }, context, signal);
      break;
    }
    case 'visit': {
      const key = collectedKey(action.dependent);
      if (key !== undefined) await reconcile(key, context, signal);
      break;
    }
  }
}

async function deleteObject(
  object: KubeObject,
  propagationPolicy: 'Background' | 'Foreground' | 'Orphan',
  { client }: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const definition = definitionOf(object);
  if (definition === undefined) return;
  const { uid, resourceVersion, name = '', namespace = '' } = object.metadata;
  // The version too: an owner may have been given to it since it was looked at.
  const preconditions = {
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
  const options = { propagationPolicy, preconditions };
  const { group, version, resource } = definition;
  await ignoreNotFound(
    client.write({ verb: 'delete', resource: { group, version, resource }, key: { namespace, name }, options }, signal),
  );
}

/** A patch that lands only on the object as it was seen. */
async function patchMetadata(
  object: KubeObject,
  change: Readonly<Record<string, unknown>>,
  { client }: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const definition = definitionOf(object);
  if (definition === undefined) return;
  const { uid, resourceVersion, name = '', namespace = '' } = object.metadata;
  const { group, version, resource } = definition;
  await ignoreNotFound(
    client.write(
      {
        verb: 'patch',
        resource: { group, version, resource },
        key: { namespace, name },
        patch: { metadata: { uid, resourceVersion, ...change } },
        patchType: 'application/merge-patch+json',
      },
      signal,
    ),
  );
}
