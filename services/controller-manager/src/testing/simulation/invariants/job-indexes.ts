import { controllerOf, hasEnded, type Job, JOBS, type Pod, PODS } from '@gantry/objects';
import { FAILURE_COUNT, IGNORED_FAILURE_COUNT } from '../../../controllers/job/index-counts.ts';
import { hasIndex, parseIntervals } from '../../../controllers/job/intervals.ts';
import { completionIndex, hasFinalizer } from '../../../controllers/job/job-rules.ts';
import { type Change, isOf, type World } from '../world.ts';
import { describeChange, type Invariant } from './invariant.ts';

/**
 * Checks a Job with a limit for each index. An index that has ended gets no more pods. No pod starts beyond the limit. A successor starts
 * with at least as many failures as its predecessors. The status lists an index as ended only when pods of it have ended that way. When the
 * Job itself removes a pod, since it is suspended or its parallelism was lowered, the pod's count of failures is lost, as in Kubernetes,
 * and the next pod starts from zero.
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

/** What the invariant has seen of the pods of one completion index. */
interface SeenIndex {
  /** The highest number of failures that a pod started with since the Job last removed one. */
  failures: number;
  succeeded: boolean;
  /** Whether the pod that started with the highest number of allowed failures has failed. */
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

/** Whether the Job releases a pod that has not ended, which it does before it deletes the pod. */
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
