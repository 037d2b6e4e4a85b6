import {
  keyOf,
  type KubeObject,
  type LabelSelector,
  labelSelectorFrom,
  type ObjectKey,
  type Resource,
} from '@gantry/objects';
import { ignoreReasons, type ObjectWriter } from '@gantry/client';
import type { Cache, WatchSpec } from '@gantry/controller-runtime';
import { adoptionPatch, controllerOf, releasePatch } from './ownership.ts';

/** An object that selects the objects it owns by label: a Deployment, a ReplicaSet. */
interface SelectingOwner extends KubeObject {
  spec?: { selector?: LabelSelector };
}

/**
 * Queues the owners of a changed object, before and after the change: the controlling owner of that resource, or every object
 * of it that selects an object without a controller.
 */
export function watchOwned<T extends KubeObject, O extends SelectingOwner>(
  resource: Resource<T>,
  owners: Resource<O>,
): WatchSpec<T> {
  return {
    resource,
    keys: (object, old, cache) => [...ownersOf(object, owners, cache), ...ownersOf(old, owners, cache)],
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
    .filter((owner) => labelSelectorFrom(owner.spec?.selector).matches(labels))
    .map(keyOf);
}

/** What `claimObjects` chooses from: objects that `owner` controls, and those of its namespace without a controller. */
export function claimCandidates<T extends KubeObject>(owner: KubeObject, resource: Resource<T>, cache: Cache): T[] {
  const { uid = '', namespace = '' } = owner.metadata;
  const free = cache.list(resource, namespace).filter((object) => controllerOf(object) === undefined);
  return [...cache.controlledBy(resource, uid), ...free];
}

type Patcher = Pick<ObjectWriter, 'patch'>;

/** Makes `owner` the controller. An object that is gone or has another controller by now is queued by its own event. */
export async function adopt<T extends KubeObject>(
  client: Patcher,
  resource: Resource<T>,
  object: NoInfer<T>,
  owner: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  await patchOwners(client, resource, object, adoptionPatch(object, owner), signal);
}

/** Takes `owner` off the object's owners; as tolerant as `adopt`. */
export async function release<T extends KubeObject>(
  client: Patcher,
  resource: Resource<T>,
  object: NoInfer<T>,
  owner: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  await patchOwners(client, resource, object, releasePatch(object, owner), signal);
}

async function patchOwners<T extends KubeObject>(
  client: Patcher,
  resource: Resource<T>,
  object: NoInfer<T>,
  patch: object,
  signal: AbortSignal,
): Promise<void> {
  await ignoreReasons(client.patch(resource, keyOf(object), { strategic: patch }, signal), ['NotFound', 'Invalid']);
}
