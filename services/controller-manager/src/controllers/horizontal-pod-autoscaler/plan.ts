import type { Instant, Plan } from '@gantry/base';
import type { HorizontalPodAutoscaler, MetricStatus, Pod, Scale } from '@gantry/objects';
import { ableToScale, type Action, countsEvents, StatusDraft, notActive } from './draft.ts';
import { limit, limitBy, type Limited, stabilise, stabiliseBy } from './limits.ts';
import { begun, type Memory, recommended } from './memory.ts';
import { type Failure, type Outcome, type Proposal, proposalOf } from './metric-proposals.ts';
import type { MetricReading } from './metric-readings.ts';
import { behaviourOf, tolerancesOf } from './scaling-rules.ts';

/** The scale of the target, or the failure to read it. */
export type TargetScale =
  | { readonly kind: 'found'; readonly scale: Scale }
  | { readonly kind: 'failed'; readonly message: string };

/** The pods under the target's selector, or the error in the selector. */
export type Selected =
  | { readonly kind: 'pods'; readonly pods: readonly Pod[] }
  /** `event` is the reason of the Event, `reason` that of the condition. */
  | { readonly kind: 'refused'; readonly reason: string; readonly message: string; readonly event: string };

/** The input of a plan for one autoscaler. */
export interface ObservedAutoscaler {
  readonly autoscaler: HorizontalPodAutoscaler;
  readonly target: TargetScale;
  readonly selected: Selected;
  /** One for each metric of the spec; none where `needsMetrics` is false. */
  readonly readings: readonly MetricReading[];
  readonly memory: Memory;
}

/** The counts that are checked before metrics. */
interface Counts {
  readonly current: number;
  readonly min: number;
  readonly max: number;
  /** Whether this autoscaler has scaled its target to 0, and may scale it up again. */
  readonly wokenFrom: 'zero' | 'none';
}

/** Plans one autoscaler, as Kubernetes' pkg/controller/podautoscaler. Call it once per sync period: recommendations depend on it. */
export function planAutoscaler(observed: ObservedAutoscaler, now: Instant): Plan<Action> {
  const { autoscaler, target } = observed;
  const draft = new StatusDraft(autoscaler, now);
  if (target.kind === 'failed') {
    draft.event('Warning', 'FailedGetScale', target.message);
    const message = `the HPA controller was unable to get the target's current scale: ${target.message}`;
    draft.state(ableToScale('FailedGetScale', message, 'False'));
    return { actions: draft.finish() };
  }
  draft.state(ableToScale('SucceededGetScale', "the HPA controller was able to get the target's current scale"));
  const counts = countsOf(autoscaler, target.scale);
  draft.memory = begun(observed.memory, counts.current, now);
  const { current, min, max } = counts;
  if (current === 0 && counts.wokenFrom === 'none') {
    draft.state(notActive('ScalingDisabled', 'scaling is disabled since the replica count of the target is zero'));
    draft.counts(current, 0, []);
  } else if (current > max) {
    rescale(draft, counts, max, 'Current number of replicas above Spec.MaxReplicas', []);
  } else if (current < min && current !== 0) {
    rescale(draft, counts, min, 'Current number of replicas below Spec.MinReplicas', []);
  } else planByMetrics(draft, counts, observed, target.scale, now);
  return { actions: draft.finish() };
}

/** Whether a plan needs metrics: a count outside its limits is corrected without them. */
export function needsMetrics(autoscaler: HorizontalPodAutoscaler, scale: Scale): boolean {
  const { current, min, max, wokenFrom } = countsOf(autoscaler, scale);
  return current === 0 ? wokenFrom === 'zero' : current >= min && current <= max;
}

function countsOf({ spec, status }: HorizontalPodAutoscaler, scale: Scale): Counts {
  const current = scale.spec?.replicas ?? 0;
  const min = spec.minReplicas ?? 1;
  const own = (status?.conditions ?? []).some((one) => one.type === 'ScaledToZero' && one.status === 'True');
  const wakes = own && (min !== 0 || countsEvents(spec));
  return { current, min, max: spec.maxReplicas, wokenFrom: wakes ? 'zero' : 'none' };
}

function planByMetrics(
  draft: StatusDraft,
  counts: Counts,
  { autoscaler, selected, readings }: ObservedAutoscaler,
  scale: Scale,
  now: Instant,
): void {
  const { current, min } = counts;
  if (selected.kind === 'refused') {
    draft.event('Warning', selected.event, selected.message);
    draft.state(notActive(selected.reason, selected.event === 'SelectorRequired' ? NO_SELECTOR : selected.message));
    draft.counts(current, autoscaler.status?.desiredReplicas ?? 0, []);
    draft.event('Warning', 'FailedComputeMetricsReplicas', selected.message, 'last');
    return;
  }
  const population = {
    namespace: autoscaler.metadata.namespace ?? '',
    pods: selected.pods,
    specReplicas: current,
    statusReplicas: scale.status?.replicas ?? 0,
    tolerances: tolerancesOf(autoscaler),
    now,
  };
  const outcomes = (autoscaler.spec.metrics ?? []).map((metric, i) =>
    proposalOf(metric, readings[i] ?? { kind: 'failed', message: 'it was not read' }, population),
  );
  outcomes.forEach((outcome, index) => draft.computed(index, outcome, current));
  const statuses = outcomes.map((one) => ('proposal' in one ? one.proposal.status : { type: '' }));
  const highest = judge(draft, outcomes, current);
  if (highest === undefined) {
    draft.counts(current, autoscaler.status?.desiredReplicas ?? 0, statuses);
    return;
  }
  const proposed = Math.max(0, highest.replicas);
  const desired = normalise(draft, counts, autoscaler, proposed, now);
  const wakesTo = current === 0 && min !== 0 ? Math.max(min, desired) : desired;
  if (wakesTo === current) draft.counts(current, current, statuses);
  else rescale(draft, counts, wakesTo, reasonOf(highest, proposed, current), statuses);
}

const NO_SELECTOR = "the HPA target's scale is missing a selector";

/** The highest proposal; undefined if too few metrics work: none, or not all when scaling down. */
function judge(draft: StatusDraft, outcomes: readonly Outcome[], current: number): Proposal | undefined {
  const failures: Failure[] = [];
  let highest: Proposal | undefined;
  for (const outcome of outcomes) {
    if ('failure' in outcome) {
      failures.push(outcome.failure);
      draft.event('Warning', outcome.failure.reason, outcome.failure.message);
    } else if (highest === undefined || highest.replicas === 0 || outcome.proposal.replicas > highest.replicas) {
      highest = outcome.proposal;
    }
  }
  const [first] = failures;
  if (highest === undefined || (first !== undefined && highest.replicas < current)) {
    const { reason = '', message = '', error = '' } = first ?? {};
    draft.state(notActive(reason, `the HPA was unable to compute the replica count: ${message}`));
    const invalid = `invalid metrics (${failures.length} invalid out of ${outcomes.length}), first error is: ${error}`;
    draft.event('Warning', 'FailedComputeMetricsReplicas', invalid, 'last');
    return undefined;
  }
  const message = `the HPA was able to successfully calculate a replica count from ${highest.metric}`;
  draft.state({ type: 'ScalingActive', status: 'True', reason: 'ValidMetricFound', message });
  return highest;
}

/** The proposed count, stabilised and limited. The memory records it as proposed. */
function normalise(
  draft: StatusDraft,
  counts: Counts,
  autoscaler: HorizontalPodAutoscaler,
  proposed: number,
  now: Instant,
): number {
  const behaviour = behaviourOf(autoscaler);
  const { memory } = draft;
  const stabilised: Limited =
    behaviour === undefined
      ? stabilise(memory, proposed, now)
      : stabiliseBy(behaviour, memory, { current: counts.current, desired: proposed }, now);
  draft.memory = recommended(memory, proposed, behaviour, now);
  draft.state(
    stabilised.replicas === proposed
      ? ableToScale('ReadyForNewScale', 'recommended size matches current size')
      : ableToScale(stabilised.reason, stabilised.message),
  );
  const limited =
    behaviour === undefined
      ? limit(stabilised.replicas, counts)
      : limitBy(behaviour, memory, stabilised.replicas, counts, now);
  const status = limited.replicas === stabilised.replicas ? 'False' : 'True';
  draft.state({ type: 'ScalingLimited', status, reason: limited.reason, message: limited.message });
  return limited.replicas;
}

function reasonOf(highest: Proposal, proposed: number, current: number): string {
  if (proposed > current) return `${highest.metric} above target`;
  if (proposed < current) return 'All metrics below target';
  return current === 0 ? 'Current number of replicas below Spec.MinReplicas' : '';
}

function rescale(
  draft: StatusDraft,
  { current, min }: Counts,
  replicas: number,
  reason: string,
  statuses: readonly MetricStatus[],
): void {
  draft.rescale(current, replicas, reason, statuses);
  const message = `the HPA controller was able to update the target scale to ${replicas}`;
  draft.state(ableToScale('SucceededRescale', message));
  draft.event('Normal', 'SuccessfulRescale', `New size: ${replicas}; reason: ${reason}`);
  if (!draft.mayReachZero(min)) return;
  draft.state(
    replicas === 0 && min === 0
      ? {
          type: 'ScaledToZero',
          status: 'True',
          reason: 'ScaledToZero',
          message: 'the HPA controller scaled the workload to zero',
        }
      : {
          type: 'ScaledToZero',
          status: 'False',
          reason: 'NotScaledToZero',
          message: 'the HPA controller did not scale the workload to zero',
        },
  );
}
