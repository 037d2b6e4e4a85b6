import type { Fence } from '../history/stored-value.ts';
import type { Invariant } from './invariant.ts';

/**
 * I2 (the fencing that Jepsen's lock tests ask for). No write of epoch e is committed after the revision at which its term ended or
 * e' > e began, and none carries the incarnation of another history. Writes name their epoch in the value's header, deletions in
 * `/gantry/deleted`. From etcd's history.
 */
export const noStaleWrites: Invariant = {
  id: 'I2',
  title: 'No write of a former leader is committed',
  unit: 'writes of leaders',
  needs: ['etcd'],
  observe(world, findings) {
    return {
      change({ key, fence, revision, atMs, source }) {
        if (fence === undefined) return;
        findings.checked();
        const term = world.terms.get(fence.electionKey);
        const what = broken(fence, term?.epoch, world.incarnation);
        if (what !== undefined)
          findings.violation(atMs, `${key} at revision ${revision}: ${what}`, term?.source, source);
      },
    };
  },
};

function broken({ electionKey, epoch, incarnation }: Fence, current: number | undefined, now: string) {
  if (incarnation !== '' && now !== '' && incarnation !== now) return `incarnation ${incarnation} while ${now} holds`;
  if (current === epoch) return undefined;
  return `epoch ${epoch} of ${electionKey}, while ${current === undefined ? 'nobody led' : `epoch ${current} led`}`;
}
