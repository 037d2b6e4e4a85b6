import { formatTime, type Instant } from '@gantry/base';
import {
  equalJson,
  type HorizontalPodAutoscaler,
  type HorizontalPodAutoscalerCondition as Condition,
  type HorizontalPodAutoscalerStatus as Status,
  type MetricStatus,
} from '@gantry/objects';
import { type Memory, NO_MEMORY, scaled } from './memory.ts';
import type { Outcome } from './metric-proposals.ts';
import { behaviourOf } from './scaling-rules.ts';

/** The error class of a reason: an error in the spec, or in reading or computing metrics. */
export function errorOf(reason: string): 'spec' | 'internal' {
  return reason === 'InvalidMetricSourceType' ? 'spec' : 'internal';
}

/** Whether a metric can exceed its target without pods. */
export function countsEvents({ metrics }: HorizontalPodAutoscaler['spec']): boolean {
  return (metrics ?? []).some(({ type }) => type === 'Object' || type === 'External');
}

/** The actions and the status of one autoscaler, as a plan builds them. */
export class StatusDraft {
  memory: Memory = NO_MEMORY;
  readonly #autoscaler: HorizontalPodAutoscaler;
  readonly #now: Instant;
  readonly #actions: Action[] = [];
  readonly #last: Action[] = [];
  #status: Status;

  constructor(autoscaler: HorizontalPodAutoscaler, now: Instant) {
    this.#autoscaler = autoscaler;
    this.#now = now;
    this.#status = { desiredReplicas: 0, ...autoscaler.status };
  }

  event(type: 'Normal' | 'Warning', reason: string, message: string, when: 'now' | 'last' = 'now'): void {
    (when === 'last' ? this.#last : this.#actions).push({ kind: 'event', type, reason, message });
  }

  computed(index: number, outcome: Outcome, current: number): void {
    const replicas = 'proposal' in outcome ? outcome.proposal.replicas : current;
    const action = replicas > current ? 'scale_up' : replicas < current ? 'scale_down' : 'none';
    const error = 'proposal' in outcome ? 'none' : errorOf(outcome.failure.reason);
    this.#actions.push({ kind: 'computed', index, action, error });
  }

  state(statement: Statement): void {
    const conditions = withCondition(this.#status.conditions ?? [], statement, this.#now);
    this.#status = { ...this.#status, conditions: [...conditions] };
  }

  counts(current: number, desired: number, statuses: readonly MetricStatus[]): void {
    const { conditions, lastScaleTime } = this.#status;
    this.#status = {
      currentReplicas: current || undefined,
      desiredReplicas: desired,
      lastScaleTime,
      ...(statuses.length === 0 ? {} : { currentMetrics: [...statuses] }),
      conditions,
    };
  }

  rescale(current: number, replicas: number, reason: string, statuses: readonly MetricStatus[]): void {
    this.#actions.push({ kind: 'remember', memory: this.memory });
    const before = this.#status;
    const failed = (message: string): readonly Action[] => {
      const undone = new StatusDraft({ ...this.#autoscaler, status: before }, this.#now);
      undone.event('Warning', 'FailedRescale', `New size: ${replicas}; reason: ${reason}; error: ${message}`);
      const text = `the HPA controller was unable to update the target scale: ${message}`;
      undone.state(ableToScale('FailedUpdateScale', text, 'False'));
      undone.counts(current, before.desiredReplicas, statuses);
      return [...undone.#actions, ...this.#statusUpdate(undone.#status)];
    };
    this.#actions.push({ kind: 'rescale', replicas, reason, failed });
    this.memory = scaled(this.memory, current, replicas, behaviourOf(this.#autoscaler), this.#now);
    this.counts(current, replicas, statuses);
    this.#status = { ...this.#status, lastScaleTime: formatTime(this.#now) };
  }

  /** Whether the condition about 0 replicas applies to this autoscaler. */
  mayReachZero(min: number): boolean {
    const known = (this.#status.conditions ?? []).some(({ type }) => type === 'ScaledToZero');
    return known || (min === 0 && countsEvents(this.#autoscaler.spec));
  }

  finish(): readonly Action[] {
    const remember: Action = { kind: 'remember', memory: this.memory };
    return [...this.#actions, remember, ...this.#statusUpdate(this.#status), ...this.#last];
  }

  #statusUpdate(status: Status): readonly Action[] {
    const old = this.#autoscaler.status ?? { desiredReplicas: 0 };
    return equalJson(comparable(status), comparable(old)) ? [] : [{ kind: 'updateStatus', status }];
  }
}

/** A status normalised for comparison: absent and empty values are equal. */
function comparable({ currentReplicas, currentMetrics, ...rest }: Status): Status {
  return {
    ...rest,
    ...(currentReplicas === undefined || currentReplicas === 0 ? {} : { currentReplicas }),
    ...((currentMetrics ?? []).length === 0 ? {} : { currentMetrics: currentMetrics ?? [] }),
  };
}

/** An action of a plan for one autoscaler. */
export type Action =
  | { readonly kind: 'event'; readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string }
  | { readonly kind: 'remember'; readonly memory: Memory }
  /** For this controller's metrics: the result of the metric with this index. */
  | {
      readonly kind: 'computed';
      readonly index: number;
      readonly action: 'scale_up' | 'scale_down' | 'none';
      readonly error: 'spec' | 'internal' | 'none';
    }
  /** If it fails, `failed` is executed and the remaining actions are skipped. */
  | {
      readonly kind: 'rescale';
      readonly replicas: number;
      readonly reason: string;
      readonly failed: (message: string) => readonly Action[];
    }
  | { readonly kind: 'updateStatus'; readonly status: Status };

type ConditionType = 'AbleToScale' | 'ScalingActive' | 'ScalingLimited' | 'ScaledToZero';

/** The content of one condition. */
interface Statement {
  readonly type: ConditionType;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

/** The conditions with this one set; its time changes only with its status. */
function withCondition(
  conditions: readonly Condition[],
  { type, status, reason, message }: Statement,
  now: Instant,
): readonly Condition[] {
  const old = conditions.find((one) => one.type === type);
  const lastTransitionTime =
    old?.status === status && old.lastTransitionTime !== undefined ? old.lastTransitionTime : formatTime(now);
  const condition = { type, status, lastTransitionTime, reason, message };
  return old === undefined ? [...conditions, condition] : conditions.map((one) => (one === old ? condition : one));
}

export function ableToScale(reason: string, message: string, status: Statement['status'] = 'True'): Statement {
  return { type: 'AbleToScale', status, reason, message };
}

export function notActive(reason: string, message: string): Statement {
  return { type: 'ScalingActive', status: 'False', reason, message };
}
