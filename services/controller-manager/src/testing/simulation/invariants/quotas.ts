import { quantityMilli, RESOURCE_QUOTAS, type ResourceQuota } from '@gantry/objects';
import { isOf } from '../world.ts';
import { describeChange, type Invariant } from './invariant.ts';

/** The used amounts in a quota's status never exceed what it allows. */
export const quotaInvariant: Invariant = {
  name: 'I19: used is at most hard',
  watch: (world, report) =>
    world.subscribe((change) => {
      if (!isOf(change, RESOURCE_QUOTAS) || change.object === undefined) return;
      const { hard = {}, used = {} } = (change.object as ResourceQuota).status ?? {};
      for (const [name, value] of Object.entries(used)) {
        const most = hard[name];
        if (most !== undefined && quantityMilli(value) > quantityMilli(most)) {
          report(`${describeChange(change)}: ${name} ${value} of ${most}`);
        }
      }
    }),
};
