import { isReason, PODS, StatusError } from '@gantry/objects';
import type { Clock, Random } from '@gantry/base';
import type { ObjectClient } from '@gantry/client';
import type { Cache, EventRecorder, Log } from '@gantry/controller-runtime';
import type { ClusterView } from './cluster-view.ts';
import { type Assignment, type Decision, planAssignments } from './plan.ts';
import type { PodInfo } from './framework/pod-info.ts';
import type { SchedulingQueue } from './queue.ts';
import { isPreempting, preempt } from './preemption-work.ts';
import { bindVolumes, sortByVolumes } from './volume-work.ts';
import { bindingOf, refusalOf, resultsOf } from './writes.ts';

/** What became of one decision, for metrics. */
export type ScheduleResult = 'scheduled' | 'unschedulable' | 'error';

export interface SchedulerOptions {
  readonly client: ObjectClient;
  readonly cache: Cache;
  readonly view: ClusterView;
  readonly queue: SchedulingQueue;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly onResult?: (result: ScheduleResult, seconds: number) => void;
  /** An attempt to preempt other pods, and how many it chose. */
  readonly onPreemption?: (victims: number) => void;
}

type Refusal = Decision & { kind: 'refuse' };

/** Pods decided on together: one snapshot, one batch of bindings. */
const MAX_PODS_PER_CYCLE = 128;

/**
 * Decides and binds, cycle by cycle; a cycle's writes have been answered before the next begins. Takes nothing new once `stop` is
 * aborted; `signal` drops what is under way.
 */
export async function runSchedulingCycles(
  options: SchedulerOptions,
  stop: AbortSignal,
  signal: AbortSignal,
): Promise<void> {
  const { queue, view, cache } = options;
  view.requeue(cache.list(PODS));
  while (!stop.aborted) {
    await queue.wait(stop);
    if (!stop.aborted) await runCycle(options, signal);
  }
  queue.clear();
}

/** One cycle: what waits is planned against one snapshot, then written. */
export async function runCycle(options: SchedulerOptions, signal: AbortSignal): Promise<void> {
  const { queue, view, clock, random, log, onResult } = options;
  const startedMs = clock.monotonicMs();
  const pods = queue.take(MAX_PODS_PER_CYCLE);
  if (pods.length === 0) return;
  const seed = Math.floor(random() * 2 ** 32);
  const ready = sortByVolumes(view, queue, pods);
  const doubtful = ready.flatMap((pod) => assignmentInDoubt(view, pod));
  const others = ready.filter((pod) => view.keeper.assumedNode(pod) === undefined);
  const decisions = planAssignments(view.keeper.snapshot(), others, seed);
  for (const { kind, pod } of decisions) if (kind === 'postpone') queue.postpone(pod);
  const decided = decisions.filter((decision) => decision.kind === 'assign');
  const assignments = [...doubtful, ...(await bindVolumes(options, decided, signal))];
  const refusals = decisions.filter((decision) => decision.kind === 'refuse');
  log.debug({ seed, pods: pods.length, assigned: assignments.length }, 'decided');
  const bound = await bind(options, assignments, signal);
  await reportRefusals(options, refusals, signal);
  const seconds = (clock.monotonicMs() - startedMs) / 1000;
  for (const result of [...bound, ...refusals.map(() => 'unschedulable' as const)]) onResult?.(result, seconds);
}

/**
 * An assignment whose outcome is unknown is sent again, to the same node: only one of both can be stored, and both say the
 * same.
 */
function assignmentInDoubt(view: ClusterView, pod: PodInfo): readonly Assignment[] {
  const nodeName = view.keeper.assumedNode(pod);
  return nodeName === undefined ? [] : [{ kind: 'assign', pod, nodeName }];
}

/** Binds in one batch; pods count where they were put until the write is known to have failed. */
async function bind(
  options: SchedulerOptions,
  assignments: readonly Assignment[],
  signal: AbortSignal,
): Promise<readonly ScheduleResult[]> {
  const { client, view, events } = options;
  if (assignments.length === 0) return [];
  const inDoubt = new Set(assignments.filter(({ pod }) => view.keeper.assumedNode(pod) !== undefined));
  for (const { pod, nodeName } of assignments) view.keeper.assume(pod, nodeName);
  const writes = assignments.map(({ pod, nodeName }) => bindingOf(pod, nodeName));
  const results = await resultsOf(() => client.batch(writes, signal), assignments.length);
  return Promise.all(
    assignments.map(async (assignment, i): Promise<ScheduleResult> => {
      const { pod, nodeName } = assignment;
      const result = results[i];
      if (result?.ok === true) {
        options.queue.remove(pod.key);
        events.event(pod.pod, 'Normal', 'Scheduled', `Successfully assigned ${pod.key} to ${nodeName}`);
        return 'scheduled';
      }
      const error = result === undefined ? StatusError.timeout('no answer') : StatusError.fromStatus(result.status);
      const mayHaveLanded = inDoubt.has(assignment) || isOutcomeUnknown(error);
      await recover(options, pod, { error, mayHaveLanded }, signal);
      return 'error';
    }),
  );
}

/** Whether the server may still store the write. */
function isOutcomeUnknown(error: StatusError): boolean {
  return error.code >= 500 && error.reason !== 'ServiceUnavailable';
}

/**
 * An assignment has failed, or may have: the pod is read, and tried again if it still waits. Room is freed only when the
 * assignment has failed for certain: one that may have landed can do so after the read, so the pod counts on its node until
 * the cache says otherwise.
 */
async function recover(
  options: SchedulerOptions,
  pod: PodInfo,
  { error, mayHaveLanded }: { readonly error: StatusError; readonly mayHaveLanded: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { client, view, queue, log } = options;
  // Another client was faster to bind, delete or replace the pod: not an error; the current state is read below.
  const fields = { pod: pod.key, reason: error.message };
  if (isReason(error, 'Conflict')) log.debug(fields, 'binding met a conflict');
  else log.warn(fields, 'binding failed');
  const { namespace = '', name = '' } = pod.pod.metadata;
  try {
    const current = await client.get(PODS, { namespace, name }, signal);
    if (current.metadata.uid === pod.uid && (current.spec?.nodeName ?? '') !== '') {
      view.keeper.setPod(current);
      queue.remove(pod.key);
      return;
    }
  } catch (readError) {
    if (isReason(readError, 'NotFound')) {
      view.keeper.removePod(pod.key);
      view.release(pod);
      queue.remove(pod.key);
      return;
    }
    if (!signal.aborted) log.warn({ pod: pod.key, err: readError }, 'reading the pod failed too');
  }
  if (!mayHaveLanded) view.release(pod);
  queue.failed(pod);
}

/**
 * Tells, in Event and status, why pods have no node, and to which one they are nominated. Pods are evicted only for one whose nomination is
 * written.
 */
async function reportRefusals(
  options: SchedulerOptions,
  refusals: readonly Refusal[],
  signal: AbortSignal,
): Promise<void> {
  const { queue, events, onPreemption } = options;
  for (const refusal of refusals) {
    const { pod, message, plugins, preemption } = refusal;
    if (preemption.kind !== 'no-attempt')
      onPreemption?.(preemption.kind === 'possible' ? preemption.victims.length : 0);
    events.event(pod.pod, 'Warning', 'FailedScheduling', message);
    if (!isPreempting(refusal)) queue.refused(pod, plugins);
  }
  const unwritten = await writeRefusals(options, refusals, signal);
  const preempting = refusals.filter(isPreempting);
  for (const refusal of preempting) if (unwritten.has(refusal)) queue.failed(refusal.pod);
  await preempt(
    options,
    preempting.filter((refusal) => !unwritten.has(refusal)),
    signal,
  );
}

/** Writes the status of refused pods. Returns those of which that failed. */
async function writeRefusals(
  { client, view, clock, log }: SchedulerOptions,
  refusals: readonly Refusal[],
  signal: AbortSignal,
): Promise<ReadonlySet<Refusal>> {
  const failed = new Set<Refusal>();
  const told = refusals.flatMap((refusal) => {
    const write = refusalOf(refusal.pod, refusal, clock.now());
    return write === undefined ? [] : [{ refusal, write }];
  });
  if (told.length === 0) return failed;
  const writes = told.map(({ write }) => write);
  const results = await resultsOf(() => client.batch(writes, signal), writes.length);
  for (const [i, { refusal }] of told.entries()) {
    const result = results[i];
    if (result?.ok === true) {
      view.written(result.object);
      continue;
    }
    failed.add(refusal);
    // Gone: a Conflict says that the name is another pod's by now.
    const reason = result?.status.reason ?? '';
    if (signal.aborted || reason === 'NotFound' || reason === 'Conflict') continue;
    log.warn({ reason: result?.status.message }, 'the reason was not written to the status of a pod');
  }
  return failed;
}
