import { hasEnded, type Job, JOBS, type Pod, PODS } from '@gantry/objects';
import { FAILURE_COUNT, IGNORED_FAILURE_COUNT } from '../../../controllers/job/index-counts.ts';
import { hasIndex, parseIntervals } from '../../../controllers/job/intervals.ts';
import { completionIndex, hasFinalizer } from '../../../controllers/job/job-rules.ts';
import { controllerOf } from '../../../libraries/ownership.ts';
import { type Change, isOf, type World } from '../world.ts';
import { describeChange, type Invariant } from './invariant.ts';

/**
 * A Job with a limit for each index: an index that has ended gets no more pods, no pod begins beyond the limit, a successor begins with
 * no fewer failures than its predecessors, and the status names an index as ended only when pods of it have ended so. What a Job removes
 * itself, as it is suspended or gets a lower parallelism, takes its count of failures along, as in Kubernetes: the next pod begins anew.
 */
export const indexLimitInvariant: Invariant = {
  name: 'I16: an index keeps to its limit',
  watch: (world, report) => {
    const seen = new Map<string, SeenIndex>();
    world.subscribe((change) => {
      if (isOf(change, PODS) && change.object !== undefined) takePod(world, seen, change, change.object, report);
      else if (isOf(change, JOBS) && change.object !== undefined) takeJob(seen, change, change.object, report);
    });
  },
};

/** What was seen of the pods of one completion index. */
interface SeenIndex {
  /** The most failures that a pod began with since the Job removed one. */
  failures: number;
  succeeded: boolean;
  /** Whether the pod that began with as many failures as are allowed has failed. */
  failedAtLimit: boolean;
}

type Report = (text: string) => void;

function takePod(world: World, seen: Map<string, SeenIndex>, change: Change, pod: Pod, report: Report): void {
  const owner = controllerOf(pod);
  const index = completionIndex(pod);
  if (owner?.kind !== 'Job' || index === undefined) return;
  const job = world.get(JOBS, pod.metadata.namespace ?? '', owner.name);
  const limit = job?.spec?.backoffLimitPerIndex;
  if (job?.metadata.uid !== owner.uid || limit === undefined) return;
  const id = `${owner.uid} ${index}`;
  const of = seen.get(id) ?? { failures: 0, succeeded: false, failedAtLimit: false };
  seen.set(id, of);
  const counted = countOf(pod, FAILURE_COUNT);
  const failures = counted + countOf(pod, IGNORED_FAILURE_COUNT);
  if (change.old === undefined) {
    const name = `index ${index} of ${owner.name}`;
    if (isEnded(job, index)) report(`${describeChange(change)}: ${name} has ended and gets a pod`);
    if (counted > limit)
      report(`${describeChange(change)}: ${name} begins with ${counted} failures, ${limit} are allowed`);
    if (failures < of.failures)
      report(`${describeChange(change)}: ${name} begins with ${failures} failures after ${of.failures}`);
    of.failures = Math.max(of.failures, failures);
  } else if (isRemoval(change.old, pod)) of.failures = 0;
  const hasFailed = pod.status?.phase === 'Failed' || pod.metadata.deletionTimestamp !== undefined;
  of.succeeded ||= pod.status?.phase === 'Succeeded';
  of.failedAtLimit ||= hasFailed && counted >= limit;
}

/** Whether the Job lets go of a pod that has not ended, before it deletes it. */
function isRemoval(old: Pod, pod: Pod): boolean {
  return hasFinalizer(old) && !hasFinalizer(pod) && !hasEnded(pod) && pod.metadata.deletionTimestamp === undefined;
}

function takeJob(
  seen: ReadonlyMap<string, SeenIndex>,
  change: Change,
  { metadata, spec, status }: Job,
  report: Report,
): void {
  if (spec?.backoffLimitPerIndex === undefined) return;
  const { completions = 0 } = spec;
  const succeeded = parseIntervals(status?.completedIndexes ?? '', completions);
  const failed = parseIntervals(status?.failedIndexes ?? '', completions);
  for (let index = 0; index < completions; index++) {
    const of = seen.get(`${metadata.uid} ${index}`);
    if (hasIndex(succeeded, index) && of?.succeeded !== true)
      report(`${describeChange(change)}: no pod of index ${index} has succeeded`);
    if (hasIndex(failed, index) && of?.failedAtLimit !== true)
      report(`${describeChange(change)}: index ${index} has failed before its limit`);
    if (hasIndex(failed, index) && hasIndex(succeeded, index))
      report(`${describeChange(change)}: index ${index} has ended twice`);
  }
}

function isEnded({ spec, status }: Job, index: number): boolean {
  return [status?.completedIndexes, status?.failedIndexes].some((text = '') =>
    hasIndex(parseIntervals(text, spec?.completions ?? 0), index),
  );
}

function countOf({ metadata }: Pod, annotation: string): number {
  return Number(metadata.annotations?.[annotation] ?? 0);
}
