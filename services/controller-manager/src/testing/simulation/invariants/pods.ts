import { hasEnded, type Pod, PODS } from '@gantry/objects';
import { isOf } from '../world.ts';
import { describeChange, type Invariant } from './invariant.ts';

const ORDER = ['Pending', 'Running', 'Succeeded', 'Failed'];
/** How far along a phase is. The two final phases are equal. */
const progress = (phase: string): number => Math.min(ORDER.indexOf(phase), 2);

/** A phase never goes back, and a final phase does not change. A pod that is being deleted stays so, and its grace period does not grow. */
export const podLifeInvariant: Invariant = {
  name: 'I11: a pod only gets older',
  watch: (world, report) =>
    world.subscribe((change) => {
      if (!isOf(change, PODS) || change.object === undefined || change.old === undefined) return;
      const [old, pod] = [change.old as Pod, change.object as Pod];
      if (old.metadata.uid !== pod.metadata.uid) return;
      const [before = 'Pending', now = 'Pending'] = [old.status?.phase, pod.status?.phase];
      if (progress(now) < progress(before) || (progress(before) === 2 && now !== before)) {
        report(`${describeChange(change)}: phase ${before} became ${now}`);
      }
      if (old.metadata.deletionTimestamp === undefined) return;
      if (pod.metadata.deletionTimestamp === undefined)
        report(`${describeChange(change)}: its deletion was taken back`);
      const [graceBefore = 0, grace = 0] = [
        old.metadata.deletionGracePeriodSeconds,
        pod.metadata.deletionGracePeriodSeconds,
      ];
      if (grace > graceBefore) report(`${describeChange(change)}: grace period ${graceBefore} became ${grace}`);
    }),
};

/** Only the kubelet removes a pod that runs on a live node. Controllers only request its deletion. */
export const podRemovalInvariant = (isLost: (node: string) => boolean): Invariant => ({
  name: 'I13: a running pod is not removed under its kubelet',
  watch: (world, report) =>
    world.subscribe((change) => {
      if (!isOf(change, PODS) || change.object !== undefined) return;
      const pod = change.old as Pod;
      const { spec, status, metadata } = pod;
      if (hasEnded(pod) || (spec?.nodeName ?? '') === '' || isLost(spec?.nodeName ?? '')) return;
      report(`${describeChange(change)}: removed in phase ${status?.phase}, deleted at ${metadata.deletionTimestamp}`);
    }),
});
