import type { Condition, Pod, PodDisruptionBudget, PodDisruptionBudgetStatus } from '@gantry/objects';
import { isReady } from '../../libraries/pods/pod-state.ts';
import type { ExpectedPods } from './expected-pods.ts';

const ALLOWED = 'DisruptionAllowed';

interface Counted extends Omit<ExpectedPods, 'unmanaged'> {
  readonly pods: readonly Pod[];
  /** Pods that are expected to be deleted soon. */
  readonly disrupted: Readonly<Record<string, string>>;
}

/**
 * The status of a budget. With zero expected pods, no disruption is allowed, so that a budget is safe when its first pods appear. Returns
 * the old status if nothing has changed. After a failure to count, the condition is set again even if the counts are unchanged.
 */
export function budgetStatus(budget: PodDisruptionBudget, counted: Counted, time: string): PodDisruptionBudgetStatus {
  const { pods, disrupted, expectedPods, desiredHealthy } = counted;
  const { generation = 0 } = budget.metadata;
  const currentHealthy = pods.filter(
    (pod) =>
      pod.metadata.deletionTimestamp === undefined && disrupted[pod.metadata.name ?? ''] === undefined && isReady(pod),
  ).length;
  const disruptionsAllowed = expectedPods <= 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy);
  const counts = { currentHealthy, desiredHealthy, disruptionsAllowed, expectedPods, observedGeneration: generation };
  const condition = {
    ...(disruptionsAllowed > 0
      ? { status: 'True', reason: 'SufficientPods' }
      : { status: 'False', reason: 'InsufficientPods' }),
    message: '',
    observedGeneration: generation,
  };
  const { status } = budget;
  if (status !== undefined && saysTheSame(status, counts, disrupted) && isKnown(status.conditions, condition))
    return status;
  return {
    ...counts,
    ...(Object.keys(disrupted).length === 0 ? {} : { disruptedPods: { ...disrupted } }),
    conditions: withCondition(budget.status?.conditions, condition, time),
  };
}

/** The status of a budget whose pods could not be counted: no disruptions are allowed. */
export function failedStatus(
  { status }: PodDisruptionBudget,
  message: string,
  time: string,
): PodDisruptionBudgetStatus {
  const { observedGeneration } = status ?? {};
  const condition = { status: 'False', reason: 'SyncFailed', message, observedGeneration };
  return { ...status, disruptionsAllowed: 0, conditions: withCondition(status?.conditions, condition, time) };
}

/** Whether the budget's pods could not be counted. */
export function hasFailed({ status }: PodDisruptionBudget): boolean {
  return status?.conditions?.some(({ type, reason }) => type === ALLOWED && reason === 'SyncFailed') === true;
}

function saysTheSame(
  status: PodDisruptionBudgetStatus,
  counts: Required<Pick<PodDisruptionBudgetStatus, (typeof COUNTS)[number]>>,
  disrupted: Readonly<Record<string, string>>,
): boolean {
  if (COUNTS.some((count) => (status[count] ?? 0) !== counts[count])) return false;
  const before = Object.entries(status.disruptedPods ?? {});
  if (before.length !== Object.keys(disrupted).length) return false;
  return before.every(([name, time]) => disrupted[name] === time);
}

/** Whether the condition exists with this status and reason. */
function isKnown(
  conditions: readonly Condition[] = [],
  { status, reason }: Pick<Condition, 'status' | 'reason'>,
): boolean {
  return conditions.some((one) => one.type === ALLOWED && one.status === status && one.reason === reason);
}

const COUNTS = [
  'currentHealthy',
  'desiredHealthy',
  'disruptionsAllowed',
  'expectedPods',
  'observedGeneration',
] as const;

/** Sets the condition; its time changes only with its status. */
function withCondition(
  conditions: readonly Condition[] = [],
  wanted: Omit<Condition, 'type' | 'lastTransitionTime'>,
  time: string,
): Condition[] {
  const old = conditions.find(({ type }) => type === ALLOWED);
  const lastTransitionTime = old?.status === wanted.status ? old.lastTransitionTime : time;
  const condition = { type: ALLOWED, lastTransitionTime, ...wanted };
  if (old === undefined) return [...conditions, condition];
  return conditions.map((one) => (one === old ? condition : one));
}
