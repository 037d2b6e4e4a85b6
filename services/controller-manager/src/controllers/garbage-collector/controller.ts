import { append } from '@gantry/base';
import { ignoreNotFound } from '@gantry/client';
import {
  type Cache,
  type ControllerContext,
  type ControllerSpec,
  executeActions,
  kindKeyOf,
  type ReconcileKey,
  type Result,
  resultOf,
} from '@gantry/controller-runtime';
import { equalJson, keyOf, type KubeObject, ORPHAN_FINALIZER, type OwnerReference } from '@gantry/objects';
import type { GarbageMeter } from '../../metrics/meters.ts';
import { cachedOwner, COLLECTED, groupKindOf, isCollected, isWithinScope, resourceOf } from './collected-resources.ts';
import { OwnerMemory, ownerState } from './owner-state.shell.ts';
import { type Action, isDeletingDependents, isInCircle, type ObservedOwner, planGarbage } from './plan.ts';
import { unseenDependents } from './unseen-dependents.shell.ts';

/** Milliseconds until the next reconcile while new resources have not been listed. */
const UNSETTLED_MS = 200;

/** Deletes objects whose owners are gone, and completes foreground and orphaning deletions. Keys have group and kind. */
export function createGarbageCollector(meter: GarbageMeter): ControllerSpec {
  const memory = new OwnerMemory();
  const keys = (object: KubeObject | undefined, old: KubeObject | undefined, cache: Cache) =>
    affectedKeys(object, old, cache, memory);
  return {
    name: 'garbage-collector',
    eventSource: 'garbage-collector-controller',
    watches: COLLECTED.map((resource) => ({ resource, keys })),
    served: {
      wants: isCollected,
      keys: (_resource, object, old, cache) => keys(object, old, cache),
      onSync: ({ group, kind }) => memory.takeWaiting(`${group}/${kind}`),
      onUnlisted: () => meter.unlisted(),
    },
    workers: 10,
    begin: () => memory.clear(),
    reconcile: (key, context, signal) => reconcile(key, context, memory, signal),
  };
}

/**
 * Keys to queue for a change: the object itself if it has owners or is being deleted, its current and former owners that are being deleted,
 * and its dependents if it is deleted.
 */
function affectedKeys(
  object: KubeObject | undefined,
  old: KubeObject | undefined,
  cache: Cache,
  memory: OwnerMemory,
): readonly ReconcileKey[] {
  const keys: ReconcileKey[] = [];
  const subject = object ?? old;
  if (subject === undefined || isSameToCollector(object, old)) return [];
  if (object === undefined || isReplaced(object, old)) {
    const uid = (old ?? subject).metadata.uid ?? '';
    const dependents = cache.dependentsOf(uid);
    if (dependents.length > 0) memory.deleted(uid);
    append(keys, dependents.map(kindKeyOf));
  }
  if (object !== undefined) {
    const isOwned = (object.metadata.ownerReferences ?? []).length > 0;
    const isKept = old === undefined && isKeptByOwners(object, cache);
    if ((isOwned && !isKept) || object.metadata.deletionTimestamp !== undefined) keys.push(kindKeyOf(object));
  }
  append(keys, goingOwners(subject, cache).map(kindKeyOf));
  // An owner may have waited only for this object.
  if (object !== undefined && old !== undefined) append(keys, goingOwners(old, cache).map(kindKeyOf));
  return keys;
}

/**
 * Whether the cache has all owners of a new object and none is being deleted. Then there is nothing to do until one of them changes, which
 * queues the object. Most new objects with owners are in this state.
 */
function isKeptByOwners(object: KubeObject, cache: Cache): boolean {
  return (object.metadata.ownerReferences ?? []).every((reference) => {
    const owner = cachedOwner(object, reference, cache);
    return owner !== undefined && owner.metadata.deletionTimestamp === undefined;
  });
}

/** The owners of an object that are being deleted. */
function goingOwners(object: KubeObject, cache: Cache): readonly KubeObject[] {
  return (object.metadata.ownerReferences ?? []).flatMap((reference) => {
    const owner = cachedOwner(object, reference, cache);
    return owner?.metadata.deletionTimestamp === undefined ? [] : [owner];
  });
}

/**
 * Whether an update does not change owners, deletion or finalizers, which are all that the collector reads. Most updates are of a status.
 */
function isSameToCollector(object: KubeObject | undefined, old: KubeObject | undefined): boolean {
  if (object === undefined || old === undefined || isReplaced(object, old)) return false;
  const [now, before] = [object.metadata, old.metadata];
  return (
    now.deletionTimestamp === before.deletionTimestamp &&
    equalJson(now.ownerReferences, before.ownerReferences) &&
    equalJson(now.finalizers, before.finalizers)
  );
}

function isReplaced(object: KubeObject, old: KubeObject | undefined): boolean {
  return old !== undefined && old.metadata.uid !== object.metadata.uid;
}

async function reconcile(
  key: ReconcileKey,
  context: ControllerContext,
  memory: OwnerMemory,
  signal: AbortSignal,
): Promise<Result> {
  const { cache, clock, served } = context;
  memory.forget(key);
  const resource = resourceOf(`${key.group ?? ''}/${key.kind ?? ''}`, served);
  const object = resource === undefined ? undefined : cache.get(resource, key);
  if (object === undefined) return {};
  const owners: ObservedOwner[] = [];
  if (object.metadata.deletionTimestamp === undefined) {
    for (const reference of object.metadata.ownerReferences ?? []) {
      owners.push({ reference, state: await ownerState(object, reference, context, memory, signal) });
    }
  }
  const dependents = cache
    .dependentsOf(object.metadata.uid ?? '')
    .filter((dependent) => isWithinScope(object, dependent));
  const ownerOf = (of: KubeObject, reference: OwnerReference) => cachedOwner(of, reference, cache);
  const deadlock = isDeletingDependents(object) && isInCircle(object, ownerOf) ? 'circle' : 'none';
  const plan = planGarbage({ object, owners, dependents, deadlock }, clock.now());
  const last = plan.actions.filter(({ kind }) => kind === 'removeFinalizer');
  // Resources that are not listed yet may contain dependents.
  if (last.length > 0 && !served.isSettled()) return { requeueAfterMs: UNSETTLED_MS };
  const first = plan.actions.filter(({ kind }) => kind !== 'removeFinalizer');
  await executeActions(first, (action) => execute(object, action, context, signal), { pace: 'full' }, signal);
  if (last.some((action) => action.kind === 'removeFinalizer' && action.finalizer === ORPHAN_FINALIZER)) {
    const unseen = await unseenDependents(object, context, signal);
    const orphan = (dependent: KubeObject) => execute(object, { kind: 'orphan', dependent }, context, signal);
    await executeActions(unseen, orphan, { pace: 'full' }, signal);
  }
  for (const action of last) await execute(object, action, context, signal);
  return resultOf(plan, clock);
}

async function execute(
  object: KubeObject,
  action: Action,
  { client, served, enqueue }: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  if (action.kind === 'enqueue') {
    enqueue(kindKeyOf(action.dependent));
    return;
  }
  if (action.kind === 'delete') {
    const resource = resourceOf(groupKindOf(object), served);
    if (resource === undefined) return;
    const { uid, resourceVersion } = object.metadata;
    // The version is included because the object may have got an owner since it was read.
    const request = { propagationPolicy: action.propagation, uid, resourceVersion };
    await ignoreNotFound(client.delete(resource, keyOf(object), request, signal));
    return;
  }
  const patch = metadataPatch(object, action);
  const resource = resourceOf(groupKindOf(patch.object), served);
  if (resource === undefined) return;
  const merge = { metadata: patch.metadata };
  await ignoreNotFound(client.patch(resource, keyOf(patch.object), { merge }, signal));
}

/** A merge patch of an object's metadata, conditional on the version that was planned from. */
interface MetadataPatch {
  readonly object: KubeObject;
  readonly metadata: object;
}

/** The metadata changes of an action, on the object or its dependent. */
function metadataPatch(object: KubeObject, action: Exclude<Action, { kind: 'delete' | 'enqueue' }>): MetadataPatch {
  const { ownerReferences = [], finalizers = [] } = object.metadata;
  switch (action.kind) {
    case 'dropOwners': {
      const kept = ownerReferences.filter(({ uid }) => !action.uids.includes(uid));
      return conditional(object, { ownerReferences: kept });
    }
    case 'unblockOwners': {
      const unblocked = ownerReferences.map((reference) => ({ ...reference, blockOwnerDeletion: false }));
      return conditional(object, { ownerReferences: unblocked });
    }
    case 'orphan': {
      const { dependent } = action;
      const kept = (dependent.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== object.metadata.uid);
      return conditional(dependent, { ownerReferences: kept.length === 0 ? null : kept });
    }
    case 'removeFinalizer': {
      const kept = finalizers.filter((finalizer) => finalizer !== action.finalizer);
      return conditional(object, { finalizers: kept.length === 0 ? null : kept });
    }
  }
}

function conditional(object: KubeObject, change: object): MetadataPatch {
  const { uid, resourceVersion } = object.metadata;
  return { object, metadata: { uid, resourceVersion, ...change } };
}
