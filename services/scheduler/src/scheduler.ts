import { isReason, PODS, StatusError } from '@gantry/objects';
import type { Clock, Random } from '@gantry/base';
import type { ObjectClient } from '@gantry/client';
import type { Cache, EventRecorder, Log } from '@gantry/controller-runtime';
import type { ClusterView } from './cluster-view.ts';
import { type Assignment, type Decision, planAssignments } from './plan.ts';
import type { PodInfo } from './framework/pod-info.ts';
import type { SchedulingQueue } from './queue.ts';
import { isPreempting, preempt, type Preempting } from './preemption-work.ts';
import { bindVolumes, sortByVolumes } from './volume-work.ts';
import { bindingOf, refusalOf, resultsOf } from './writes.ts';

/** The outcome of one decision, for metrics. */
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
  /** Is called with the decisions of each cycle. */
  readonly onDecisions?: (decisions: readonly Decision[]) => void;
  /** Is called for each attempt to preempt other pods, with the number of victims. */
  readonly onPreemption?: (victims: number) => void;
}

type Refusal = Decision & { kind: 'refuse' };

/** The most pods that one cycle decides on, with one snapshot and one batch of bindings. */
const MAX_PODS_PER_CYCLE = 128;

/**
 * Decides on pods and binds them in cycles. While the bindings of one cycle are written, the next cycle plans: so the scheduler does not wait
 * for the API server, nor the API server for it. All other writes are awaited first. After `stop` is aborted, no new cycle begins. `signal`
 * interrupts the running ones.
 */
export async function runSchedulingCycles(
  options: SchedulerOptions,
  stop: AbortSignal,
  signal: AbortSignal,
): Promise<void> {
  const { queue, view, cache } = options;
  view.requeue(cache.list(PODS));
  const failed = new AbortController();
  const end = AbortSignal.any([stop, failed.signal]);
  let earlier: Bindings = NO_BINDINGS;
  while (!end.aborted) {
    await queue.wait(end);
    if (end.aborted) break;
    earlier = await runCycle(options, signal, earlier);
    earlier.written.catch(() => failed.abort());
  }
  await earlier.written;
  queue.clear();
}

/** The bindings of a cycle. `written` resolves when the responses have arrived. */
interface Bindings {
  readonly written: Promise<void>;
}

const NO_BINDINGS: Bindings = { written: Promise.resolve() };

/**
 * Runs one cycle: plans the waiting pods with one snapshot, and writes the decisions. Returns while its bindings are being written, but not
 * before those of the `earlier` cycle have been.
 */
export async function runCycle(
  options: SchedulerOptions,
  signal: AbortSignal,
  earlier: Bindings = NO_BINDINGS,
): Promise<Bindings> {
  const { queue, view, clock, random, log, onResult } = options;
  const startedMs = clock.monotonicMs();
  const pods = queue.take(MAX_PODS_PER_CYCLE);
  if (pods.length === 0) return earlier;
  const seed = Math.floor(random() * 2 ** 32);
  const ready = sortByVolumes(view, queue, pods);
  const doubtful = ready.flatMap((pod) => assignmentInDoubt(view, pod));
  const others = ready.filter((pod) => view.keeper.assumedNode(pod) === undefined);
  const decisions = planAssignments(view.keeper.snapshot(), others, seed);
  options.onDecisions?.(decisions);
  for (const { kind, pod } of decisions) if (kind === 'postpone') queue.postpone(pod);
  const decided = decisions.filter((decision) => decision.kind === 'assign');
  const assignments = [...doubtful, ...(await bindVolumes(options, decided, signal))];
  const refusals = decisions.filter((decision) => decision.kind === 'refuse');
  log.debug({ seed, pods: pods.length, assigned: assignments.length }, 'decided');
  const report = (results: readonly ScheduleResult[]) => {
    const seconds = (clock.monotonicMs() - startedMs) / 1000;
    for (const result of results) onResult?.(result, seconds);
  };
  const written = bind(options, assignments, signal).then(report);
  // Victims may be among the pods that are being bound.
  if (refusals.some(isPreempting)) await Promise.all([earlier.written, written]);
  const current = refusals.filter((refusal) => !isPreempting(refusal) || hasItsVictims(view, refusal));
  for (const refusal of refusals) if (!current.includes(refusal)) queue.postpone(refusal.pod);
  await reportRefusals(options, current, signal);
  report(current.map(() => 'unschedulable'));
  await earlier.written;
  return { written };
}

/** Whether all victims still count on nodes. One whose binding has failed meanwhile waits for a node, and must not be deleted. */
function hasItsVictims({ keeper }: ClusterView, { preemption }: Preempting): boolean {
  return preemption.victims.every(({ key, uid }) => keeper.placed(key)?.uid === uid);
}

/**
 * When the outcome of an assignment is unknown, returns the same assignment again. Only one of the two writes can be stored, and both name
 * the same node.
 */
function assignmentInDoubt(view: ClusterView, pod: PodInfo): readonly Assignment[] {
  const nodeName = view.keeper.assumedNode(pod);
  return nodeName === undefined ? [] : [{ kind: 'assign', pod, nodeName }];
}

/** Writes all bindings in one batch. Each pod counts on its node until the write is known to have failed. */
async function bind(
  options: SchedulerOptions,
  assignments: readonly Assignment[],
  signal: AbortSignal,
): Promise<readonly ScheduleResult[]> {
  const { client, view, events } = options;
  if (assignments.length === 0) return [];
  const inDoubt = new Set(assignments.filter(({ pod }) => view.keeper.assumedNode(pod) !== undefined));
  for (const { pod, nodeName } of assignments) {
    view.keeper.assume(pod, nodeName);
    options.queue.binds(pod);
  }
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

/** Whether the write may still be stored although the response is an error. */
function isOutcomeUnknown(error: StatusError): boolean {
  return error.code >= 500 && error.reason !== 'ServiceUnavailable';
}

/**
 * Handles an assignment that has failed or may have failed: reads the pod, and tries again if it still waits. The room is given back only
 * when the assignment has certainly failed. A write that may have arrived can still be stored after the read, so the pod counts on its node
 * until the cache says otherwise.
 */
async function recover(
  options: SchedulerOptions,
  pod: PodInfo,
  { error, mayHaveLanded }: { readonly error: StatusError; readonly mayHaveLanded: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { client, view, queue, log } = options;
  // Another client has bound, deleted or replaced the pod first. That is not an error: the current state is read below.
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
  queue.failed(pod, error);
}

/**
 * Writes, as an Event and in the status, why pods have no node and which node they are nominated to. Victims are evicted only for a pod
 * whose nomination has been written.
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
  for (const refusal of preempting) if (unwritten.has(refusal)) queue.failed(refusal.pod, unwritten.get(refusal));
  await preempt(
    options,
    preempting.filter((refusal) => !unwritten.has(refusal)),
    signal,
  );
}

/** Writes the status of refused pods. Returns the refusals whose write failed, with the errors. */
async function writeRefusals(
  { client, view, clock, log }: SchedulerOptions,
  refusals: readonly Refusal[],
  signal: AbortSignal,
): Promise<ReadonlyMap<Refusal, StatusError>> {
  const failed = new Map<Refusal, StatusError>();
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
    const error = result === undefined ? StatusError.timeout('no answer') : StatusError.fromStatus(result.status);
    failed.set(refusal, error);
    const { reason, message } = error;
    // The pod is gone. A Conflict means that another pod has its name now.
    if (signal.aborted || reason === 'NotFound' || reason === 'Conflict') continue;
    log.warn({ reason: message }, 'the reason was not written to the status of a pod');
  }
  return failed;
}
