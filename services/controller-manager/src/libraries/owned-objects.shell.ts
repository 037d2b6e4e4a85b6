import { ignoreNotFound, ignoreReasons, type ObjectReader, type ObjectWriter } from '@gantry/client';
import type { Cache, WatchSpec } from '@gantry/controller-runtime';
import { controllerOf, equalJson, keyOf, type KubeObject, type ObjectKey, type Resource } from '@gantry/objects';
import { adoptionPatch, releasePatch, type SelectingOwner, selectorOf } from './ownership.ts';

interface WatchOwnedOptions<T extends KubeObject, O extends KubeObject> {
  /** Whether an update of an object with an unchanged controller affects the owner; every update does when absent. */
  readonly matters?: (object: T, old: T) => boolean;
  /** Milliseconds that a change may wait for more; `owner` is the controller, if cached. 0 when absent. */
  readonly delayMs?: (object: T | undefined, old: T | undefined, owner: O | undefined) => number;
}

/**
 * Queues the owners of a changed object, before and after the change: its controlling owner of that resource. For an object without a
 * controller that is new, or whose labels or owners changed, every owner that selects it.
 */
export function watchOwned<T extends KubeObject, O extends SelectingOwner>(
  resource: Resource<T>,
  owners: Resource<O>,
  { matters = () => true, delayMs = () => 0 }: WatchOwnedOptions<T, O> = {},
): WatchSpec<T> {
  return {
    resource,
    delayMs: (object, old, _now, cache) => {
      const { namespace = '' } = (object ?? old)?.metadata ?? {};
      const controller = controllerOf(object ?? old);
      const owner = controller === undefined ? undefined : cache.get(owners, { namespace, name: controller.name });
      return delayMs(object, old, owner);
    },
    keys: (object, old, cache) => {
      const controller = controllerOf(object);
      const before = controllerOf(old);
      if (object !== undefined && old !== undefined && controller?.uid === before?.uid) {
        // Most changes are of objects with a controller of another kind.
        if (controller !== undefined && controller.kind !== owners.kind) return [];
        const concerns =
          controller === undefined ? !equalJson(object.metadata.labels, old.metadata.labels) : matters(object, old);
        return concerns ? ownersOf(object, owners, cache) : [];
      }
      const left = before === undefined ? [] : ownersOf(old, owners, cache);
      return object === undefined ? left : [...left, ...ownersOf(object, owners, cache)];
    },
  };
}

/** Keys of the owners that `watchOwned` queues for one state of an object. */
export function ownersOf<O extends SelectingOwner>(
  object: KubeObject | undefined,
  owners: Resource<O>,
  cache: Cache,
): readonly ObjectKey[] {
  if (object === undefined) return [];
  const { namespace = '', labels } = object.metadata;
  const controller = controllerOf(object);
  if (controller !== undefined) return controller.kind === owners.kind ? [{ namespace, name: controller.name }] : [];
  return cache
    .list(owners, namespace)
    .filter((owner) => !selectorOf(owner).empty && selectorOf(owner).matches(labels))
    .map(keyOf);
}

/** Candidates for `claimObjects`, in the owner's namespace: objects that the owner controls, and those without a controller. */
export function claimCandidates<T extends KubeObject>(owner: KubeObject, resource: Resource<T>, cache: Cache): T[] {
  const { uid = '', namespace = '' } = owner.metadata;
  return [...cache.controlledBy(resource, namespace, uid), ...cache.withoutController(resource, namespace)];
}

/**
 * Whether `owner` may adopt: it exists in the store and is not being deleted. The cache may not show its deletion yet, and the garbage
 * collector would delete adopted objects. The owner's own event queues it again.
 */
export async function mayAdopt<O extends KubeObject>(
  client: Pick<ObjectReader, 'get'>,
  resource: Resource<O>,
  owner: NoInfer<O>,
  signal: AbortSignal,
): Promise<boolean> {
  const stored = await ignoreNotFound(client.get(resource, keyOf(owner), signal));
  return stored?.metadata.uid === owner.metadata.uid && stored?.metadata.deletionTimestamp === undefined;
}

type Patcher = Pick<ObjectWriter, 'patch'>;

/** Writes the owners of an object. An object that is gone or has another controller is queued by its own event. */
type WriteOwners = <T extends KubeObject>(
  client: Patcher,
  resource: Resource<T>,
  object: NoInfer<T>,
  owner: KubeObject,
  signal: AbortSignal,
) => Promise<void>;

/** Makes `owner` the controller. */
export const adopt: WriteOwners = writeOwners(adoptionPatch);

/** Removes `owner` from the object's owners. */
export const release: WriteOwners = writeOwners(releasePatch);

function writeOwners(patchOf: (object: KubeObject, owner: KubeObject) => object): WriteOwners {
  return async (client, resource, object, owner, signal) => {
    const patch = { strategic: patchOf(object, owner) };
    await ignoreReasons(client.patch(resource, keyOf(object), patch, signal), ['NotFound', 'Invalid']);
  };
}
