import { type Clock, formatTime } from '@gantry/base';
import type { ObjectWrite, WriteResult, WriteSender } from '@gantry/client';
import type { EventRecorder, Log } from '@gantry/controller-runtime';
import { type Pod, StatusError } from '@gantry/objects';
import type { ClusterView } from './cluster-view.ts';
import type { PodInfo } from './framework/pod-info.ts';
import { hasDelayedClaims } from './framework/claimed-volumes.ts';
import type { Decision, Preemption } from './plan.ts';
import type { SchedulingQueue } from './queue.ts';
import { preemptionMarkOf, preemptionOf, resultsOf, withdrawalOf } from './writes.ts';

/** The parts of a scheduler that preemption uses. */
export interface PreemptionWorkOptions {
  readonly client: Pick<WriteSender, 'batch'>;
  readonly view: ClusterView;
  readonly queue: SchedulingQueue;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
}

/** The decision on a refused pod that takes the place of other pods. */
export type Preempting = Decision & { kind: 'refuse'; preemption: Preemption & { kind: 'possible' } };

/** A pod to evict, and the decision on the pod that takes its place. */
interface Eviction {
  readonly victim: PodInfo;
  readonly by: Preempting;
}

export function isPreempting(decision: Decision): decision is Preempting {
  return decision.kind === 'refuse' && decision.preemption.kind === 'possible';
}

/**
 * Makes room for pods whose nomination has been written. First it withdraws nominations of lower priority to the same nodes and gives the
 * victims the condition `DisruptionTarget`. Then it deletes the victims that have the condition. If the leader changes in between, the new
 * one finds the nominations: it plans the same again, or waits for victims that terminate already. Each pod waits until its victims are
 * gone. A pod with a victim that could not be deleted is tried again soon.
 */
export async function preempt(
  options: PreemptionWorkOptions,
  decisions: readonly Preempting[],
  signal: AbortSignal,
): Promise<void> {
  const { queue, log } = options;
  if (decisions.length === 0) return;
  const bound: Eviction[] = [];
  for (const by of decisions) {
    const { pod, preemption } = by;
    log.info(
      { pod: pod.key, node: preemption.nodeName, victims: preemption.victims.map(({ key }) => key) },
      'preempts',
    );
    for (const victim of preemption.victims) {
      if (!releaseUnbound(options, { victim, by })) bound.push({ victim, by });
    }
  }
  const failures: Failures = new Map();
  const marked = await mark(options, { evictions: bound, decisions, failures }, signal);
  await evict(options, { evictions: marked, failures }, signal);
  for (const decision of decisions) {
    if (failures.has(decision)) queue.failed(decision.pod, failures.get(decision));
    else queue.refused(decision.pod, decision.plugins);
  }
}

/** A victim that waits for its volumes is not bound yet. It only loses its node, and is not deleted. */
function releaseUnbound(options: PreemptionWorkOptions, eviction: Eviction): boolean {
  const { victim } = eviction;
  const { view } = options;
  if (view.keeper.assumedNode(victim) === undefined || !hasDelayedClaims(victim.volumes)) return false;
  view.release(victim);
  report(options, eviction, ' (in kube-scheduler memory).');
  return true;
}

/** Decisions with a victim that could not be marked or deleted, and why. */
type Failures = Map<Preempting, StatusError>;

/** Marks the victims. Returns the evictions whose victims have the condition now. */
async function mark(
  options: PreemptionWorkOptions,
  {
    evictions,
    decisions,
    failures,
  }: {
    readonly evictions: readonly Eviction[];
    readonly decisions: readonly Preempting[];
    readonly failures: Failures;
  },
  signal: AbortSignal,
): Promise<readonly Eviction[]> {
  const now = options.clock.now();
  const displaced = new Map(decisions.flatMap(({ preemption }) => preemption.displaced.map((pod) => [pod.key, pod])));
  const withdrawals = [...displaced.values()].map(withdrawalOf);
  const marks = evictions.map(({ victim, by }) => preemptionMarkOf(victim, by.pod, now));
  const results = await send(options, [...withdrawals, ...marks.filter((write) => write !== undefined)], signal);
  for (const result of results) if (result.ok) options.view.written(result.object);
  // If a nomination could not be withdrawn, a later cycle does it. Its pod has no claim to the room.
  const ofMarks = results.slice(withdrawals.length).values();
  return evictions.filter(({ by }, i) => marks[i] === undefined || isDone(ofMarks.next().value, by, failures));
}

/** Deletes the victims. */
async function evict(
  options: PreemptionWorkOptions,
  { evictions, failures }: { readonly evictions: readonly Eviction[]; readonly failures: Failures },
  signal: AbortSignal,
): Promise<void> {
  const { view, clock } = options;
  const results = await send(
    options,
    evictions.map(({ victim }) => preemptionOf(victim)),
    signal,
  );
  for (const [i, eviction] of evictions.entries()) {
    const result = results[i];
    if (!isDone(result, eviction.by, failures)) continue;
    const { metadata, ...pod } = result.object as Pod;
    // A pod that was never started is gone at once. It counts as leaving until the cache shows that.
    view.written({ ...pod, metadata: { deletionTimestamp: formatTime(clock.now()), ...metadata } });
    report(options, eviction, '');
  }
}

/** Whether a write succeeded. Otherwise keeps why not. */
function isDone(
  result: WriteResult | undefined,
  by: Preempting,
  failures: Failures,
): result is WriteResult & { readonly ok: true } {
  if (result?.ok === true) return true;
  failures.set(by, result === undefined ? StatusError.timeout('no answer') : StatusError.fromStatus(result.status));
  return false;
}

/** Sends the writes and logs those that fail. It is not logged when the pod is gone or another pod has its name now. */
async function send(
  { client, log }: PreemptionWorkOptions,
  writes: readonly ObjectWrite[],
  signal: AbortSignal,
): Promise<readonly WriteResult[]> {
  if (writes.length === 0) return [];
  const results = await resultsOf(() => client.batch(writes, signal), writes.length);
  for (const result of results) {
    if (result.ok || signal.aborted || ['NotFound', 'Conflict'].includes(result.status.reason ?? '')) continue;
    log.warn({ reason: result.status.message }, 'a write for preemption failed');
  }
  return results;
}

/** Writes the Event that Kubernetes has for a victim. */
function report({ events }: PreemptionWorkOptions, { victim, by }: Eviction, suffix: string): void {
  const { pod, preemption } = by;
  events.event(
    victim.pod,
    'Normal',
    'Preempted',
    `Preempted by pod ${pod.uid} on node ${preemption.nodeName}${suffix}`,
  );
}
