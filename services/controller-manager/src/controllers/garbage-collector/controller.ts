import { append } from '@gantry/base';
import type { KubeObject, ObjectKey, OwnerReference } from '@gantry/api';
import {
  type Cache,
  type ControllerContext,
  type ControllerSpec,
  executeActions,
  type Result,
} from '@gantry/controller-runtime';
import { ignoreNotFound } from '../ignore-not-found.ts';
import { OwnerMemory } from './owner-memory.ts';
import { cachedOwner, isWithinScope, ownerState } from './owner-state.ts';
import { type Action, isDeletingDependents, isInCircle, type ObservedOwner, planGarbage } from './plan.ts';
import {
  COLLECTED,
  collectedKey,
  type CollectedResource,
  groupKindOf,
  isCollected,
  parseCollectedKey,
  resourceOf,
} from './resource-keys.ts';

/** How soon to ask whether resources that are new can be listed. */
const UNSETTLED_MS = 200;
/** A kind that begins to be served is told of; whatever tells of it may fail. */
const UNKNOWN_OWNER_MS = 60_000;

/** Deletes what has lost its owners, and sees foreground and orphaning deletions through. Keys name objects of any kind. */
export function createGarbageCollector(): ControllerSpec {
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
      shift: ({ group, kind }) => memory.takeWaiting(`${group}/${kind}`),
    },
    workers: 10,
    begin: () => memory.clear(),
    reconcile: (key, context, signal) => reconcile(key, { ...context, memory }, signal),
  };
}

interface Context extends ControllerContext {
  readonly memory: OwnerMemory;
}

/** The object itself where it can be garbage or holds a collector's finalizer, its waiting owners, and its dependents once it is gone. */
function affectedKeys(
  object: KubeObject | undefined,
  old: KubeObject | undefined,
  cache: Cache,
  memory: OwnerMemory,
): readonly ObjectKey[] {
  const keys: ObjectKey[] = [];
  const subject = object ?? old;
  if (subject === undefined) return [];
  if (object === undefined || isReplaced(object, old)) {
    const uid = (old ?? subject).metadata.uid ?? '';
    const dependents = cache.dependentsOf?.(uid) ?? [];
    if (dependents.length > 0) memory.deleted(uid);
    append(keys, dependents.map(collectedKey));
  }
  if (object !== undefined) {
    const isOwned = (object.metadata.ownerReferences ?? []).length > 0;
    if (isOwned || object.metadata.deletionTimestamp !== undefined) keys.push(collectedKey(object));
  }
  for (const reference of subject.metadata.ownerReferences ?? []) {
    const owner = cachedOwner(subject, reference, cache);
    if (owner !== undefined && owner.metadata.deletionTimestamp !== undefined) keys.push(collectedKey(owner));
  }
  return keys;
}

function isReplaced(object: KubeObject, old: KubeObject | undefined): boolean {
  return old !== undefined && old.metadata.uid !== object.metadata.uid;
}

async function reconcile(key: ObjectKey, context: Context, signal: AbortSignal): Promise<Result> {
  const { cache, served, memory } = context;
  memory.forget(key);
  const parsed = parseCollectedKey(key);
  const resource = resourceOf(parsed.groupKind, served);
  const object = resource === undefined ? undefined : cache.get(resource, parsed.key);
  if (object === undefined) return {};
  const owners: ObservedOwner[] = [];
  if (object.metadata.deletionTimestamp === undefined) {
    for (const reference of object.metadata.ownerReferences ?? []) {
      owners.push({ reference, state: await ownerState(object, reference, context, memory, signal) });
    }
  }
  const dependents = (cache.dependentsOf?.(object.metadata.uid ?? '') ?? []).filter((dependent) =>
    isWithinScope(object, dependent),
  );
  const ownerOf = (of: KubeObject, reference: OwnerReference) => cachedOwner(of, reference, cache);
  const deadlock = isDeletingDependents(object) && isInCircle(object, ownerOf) ? 'circle' : 'none';
  const actions = planGarbage({ object, owners, dependents, deadlock });
  const last = actions.filter(({ kind }) => kind === 'removeFinalizer');
  // Among what was not listed yet there may be dependents.
  if (last.length > 0 && !served.isSettled()) return { requeueAfterMs: UNSETTLED_MS };
  const before = actions.filter(({ kind }) => kind !== 'removeFinalizer');
  await executeActions(before, (action) => execute(object, action, context, signal), { pace: 'full' }, signal);
  for (const action of last) await execute(object, action, context, signal);
  return owners.some(({ state }) => state === 'unknown') ? { requeueAfterMs: UNKNOWN_OWNER_MS } : {};
}

async function execute(object: KubeObject, action: Action, context: Context, signal: AbortSignal): Promise<void> {
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
    case 'visit':
      await reconcile(collectedKey(action.dependent), context, signal);
      break;
  }
}

async function deleteObject(
  object: KubeObject,
  propagationPolicy: 'Background' | 'Foreground' | 'Orphan',
  { client, served }: Context,
  signal: AbortSignal,
): Promise<void> {
  const of = resourceOf(groupKindOf(object), served);
  if (of === undefined) return;
  const { uid, resourceVersion, name = '', namespace = '' } = object.metadata;
  // The version too: an owner may have been given to it since it was looked at.
  const preconditions = {
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
  const options = { propagationPolicy, preconditions };
  await ignoreNotFound(
    client.write({ verb: 'delete', resource: refOf(of), key: { namespace, name }, options }, signal),
  );
}

/** A patch that lands only on the object as it was seen. */
async function patchMetadata(
  object: KubeObject,
  change: Readonly<Record<string, unknown>>,
  { client, served }: Context,
  signal: AbortSignal,
): Promise<void> {
  const of = resourceOf(groupKindOf(object), served);
  if (of === undefined) return;
  const { uid, resourceVersion, name = '', namespace = '' } = object.metadata;
  await ignoreNotFound(
    client.write(
      {
        verb: 'patch',
        resource: refOf(of),
        key: { namespace, name },
        patch: { metadata: { uid, resourceVersion, ...change } },
        patchType: 'application/merge-patch+json',
      },
      signal,
    ),
  );
}

function refOf({ group, version, resource }: CollectedResource) {
  return { group, version, resource };
}
