import { CONFIG_MAPS, type KubeObject, NAMESPACES } from '@gantry/objects';
import { isOf } from '../world.ts';
import { describeChange, type Invariant } from './invariant.ts';

/** ConfigMaps, which no other controller removes, stay as long as one of their owners lives and is not being deleted. */
export const ownerInvariant = (isDeletedByUser: (object: KubeObject) => boolean): Invariant => ({
  name: 'I20: nothing is collected while an owner lives',
  watch: (world, report) =>
    world.subscribe((change) => {
      const { object, old } = change;
      if (!isOf(change, CONFIG_MAPS) || object !== undefined || old === undefined || isDeletedByUser(old)) return;
      const { namespace = '', ownerReferences = [] } = old.metadata;
      if (world.get(NAMESPACES, '', namespace)?.metadata.deletionTimestamp !== undefined) return;
      const living = ownerReferences.find(({ name, uid }) => {
        const owner = world.get(CONFIG_MAPS, namespace, name);
        return owner?.metadata.uid === uid && owner.metadata.deletionTimestamp === undefined;
      });
      if (living !== undefined) report(`${describeChange(change)}: removed, and its owner ${living.name} lives`);
    }),
});
