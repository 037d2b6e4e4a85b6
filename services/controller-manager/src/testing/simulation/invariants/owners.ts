import { CONFIG_MAPS, type KubeObject, NAMESPACES, type OwnerReference, type Resource, SECRETS } from '@gantry/objects';
import { isDeletingDependents } from '../../../controllers/garbage-collector/plan.ts';
import { type Change, isOf, type World } from '../world.ts';
import { describeChange, type Invariant } from './invariant.ts';

/** Resources whose objects are deleted by no controller but the garbage collector. */
const OWNED: readonly Resource[] = [CONFIG_MAPS, SECRETS];

/** An object of these resources is neither deleted nor marked as long as one of its owners lives and is not being deleted. */
export const ownerInvariant = (isDeletedByUser: (object: KubeObject) => boolean): Invariant => ({
  name: 'I20: nothing is collected while an owner lives',
  watch: (world, report) =>
    world.subscribe((change) => {
      const { object, old } = change;
      if (resourceOf(change) === undefined || old === undefined || isDeletedByUser(old)) return;
      const isMarked = object !== undefined && isGoing(object) && !isGoing(old);
      if (object !== undefined && !isMarked) return;
      const { namespace = '', ownerReferences = [] } = old.metadata;
      if (isGoing(world.get(NAMESPACES, '', namespace))) return;
      const living = ownerReferences.find((reference) => isLiving(world, namespace, reference));
      if (living === undefined) return;
      const what = isMarked ? 'marked for deletion' : 'removed';
      report(`${describeChange(change)}: ${what}, and its owner ${living.name} lives`);
    }),
});

/**
 * An owner with foreground deletion is removed only after the objects that block it. Only objects of its own resource are checked, since
 * the controller may see other resources later.
 */
export const foregroundInvariant: Invariant = {
  name: 'I20: an owner waits for what blocks its foreground deletion',
  watch: (world, report) =>
    world.subscribe((change) => {
      const { object, old } = change;
      const resource = resourceOf(change);
      if (resource === undefined || object !== undefined || old === undefined || !isDeletingDependents(old)) return;
      const blocking = world
        .all(resource)
        .find(({ metadata: { ownerReferences = [] } }) =>
          ownerReferences.some(
            ({ uid, blockOwnerDeletion }) => uid === old.metadata.uid && blockOwnerDeletion === true,
          ),
        );
      if (blocking !== undefined)
        report(`${describeChange(change)}: removed, and its dependent ${blocking.metadata.name} blocks that`);
    }),
};

function resourceOf(change: Change): Resource | undefined {
  return OWNED.find((resource) => isOf(change, resource));
}

function isLiving(world: World, namespace: string, { kind, name, uid }: OwnerReference): boolean {
  const resource = OWNED.find((one) => one.kind === kind);
  const owner = resource && world.get(resource, namespace, name);
  return owner?.metadata.uid === uid && !isGoing(owner);
}

function isGoing(object: KubeObject | undefined): boolean {
  return object?.metadata.deletionTimestamp !== undefined;
}
