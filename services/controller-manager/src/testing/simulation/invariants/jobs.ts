import { controllerOf, type Job, JOBS, type Pod, PODS } from '@gantry/objects';
import { isOf } from '../world.ts';
import { describeChange, type Invariant } from './invariant.ts';

/** Whether a Job has pods left to run. */
export function isUnfinished({ spec, status }: Job): boolean {
  const ended = status?.conditions?.some(
    ({ type, status: value }) => (type === 'Complete' || type === 'Failed') && value === 'True',
  );
  return ended !== true && spec?.suspend !== true;
}

/** A Job counts each succeeded pod exactly once, and starts no more pods than it may need. */
export const jobCountInvariant: Invariant = {
  name: 'I16: a Job counts exactly',
  watch: (world, report) => {
    /** The uids of succeeded pods, by the uid of their Job. */
    const succeeded = new Map<string, Set<string>>();
    world.subscribe((change) => {
      if (isOf(change, PODS) && change.object !== undefined) {
        const pod = change.object as Pod;
        const owner = controllerOf(pod);
        if (owner?.kind !== 'Job' || pod.status?.phase !== 'Succeeded') return;
        const uids = succeeded.get(owner.uid) ?? new Set<string>();
        succeeded.set(owner.uid, uids.add(pod.metadata.uid ?? ''));
        const job = world.get(JOBS, pod.metadata.namespace ?? '', owner.name);
        const { completions, parallelism = 1 } = job?.spec ?? {};
        // The pods that could run while the last completion was missing. The parallelism may have been larger before.
        const most = (completions ?? Number.POSITIVE_INFINITY) + Math.max(parallelism, MOST_PARALLEL);
        if (uids.size >= most)
          report(`${describeChange(change)}: ${uids.size} pods have succeeded, wanted ${completions}`);
      } else if (isOf(change, JOBS) && change.object !== undefined) {
        const { metadata, status } = change.object as Job;
        const known = succeeded.get(metadata.uid ?? '')?.size ?? 0;
        const counted = status?.succeeded ?? 0;
        if (counted > known) report(`${describeChange(change)}: ${counted} counted, ${known} have succeeded`);
      }
    });
  },
};

/** The largest parallelism in the histories. */
const MOST_PARALLEL = 4;
const SCHEDULED_AT = 'batch.kubernetes.io/cronjob-scheduled-timestamp';

/** No time in a CronJob's schedule starts two Jobs, not even after a crash. */
export const scheduleInvariant: Invariant = {
  name: 'I16: a schedule fires once',
  watch: (world, report) => {
    const fired = new Set<string>();
    world.subscribe((change) => {
      if (!isOf(change, JOBS) || change.object === undefined || change.old !== undefined) return;
      const owner = controllerOf(change.object);
      if (owner?.kind !== 'CronJob') return;
      const time = `${owner.uid} ${change.object.metadata.annotations?.[SCHEDULED_AT]}`;
      if (fired.has(time)) report(`${describeChange(change)}: the second Job of ${owner.name} for ${time}`);
      fired.add(time);
    });
  },
};
