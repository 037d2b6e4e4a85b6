import { formatTime, type Instant, type Plan } from '@gantry/base';
import {
  equalJson,
  hasEnded,
  type Pod,
  type PodCondition,
  type PodDisruptionBudget,
  type PodDisruptionBudgetStatus,
} from '@gantry/objects';
import { type ControllerScale, expectedPods } from './expected-pods.ts';
import { lastingReports, type Report, reportId } from './reports.ts';
import { budgetStatus, failedStatus } from './status.ts';

/** The input of the plan. */
export interface ObservedBudget {
  readonly budget: PodDisruptionBudget;
  /** The pods that it selects, by name. */
  readonly pods: readonly Pod[];
  /** The other budgets of its namespace. */
  readonly others: readonly PodDisruptionBudget[];
  /** The scale of each pod's controller, by the uid of the controller reference; needed for percentages and `maxUnavailable`. */
  readonly scales: ReadonlyMap<string, ControllerScale>;
  /** Ids of the reports of `lastingOf` at the last planning of this budget. */
  readonly reported: ReadonlySet<string>;
}

export type Action = { readonly kind: 'updateStatus'; readonly status: PodDisruptionBudgetStatus } | Report;

/**
 * Computes the status of a disruption budget: how many of its pods are healthy and must be, and how many may be evicted now. If the pods
 * cannot be counted, no evictions are allowed. A pod whose eviction is recorded counts as gone for two minutes.
 */
export function planBudget(observed: ObservedBudget, now: Instant): Plan<Action> {
  const { budget, pods, reported } = observed;
  const time = formatTime(now);
  const expected = expectedPods(budget.spec, pods, observed.scales);
  const reports: Action[] = lastingOf(observed).filter((report) => !reported.has(reportId(report)));
  if ('error' in expected)
    return { actions: [...reports, ...update(budget, failedStatus(budget, expected.error, time))] };
  const { kept, late, nextExpiry } = disruptedPods(budget, pods, now);
  const { namespace = '', name = '' } = budget.metadata;
  const message = `Pod was expected by PDB ${namespace}/${name} to be deleted but it wasn't`;
  for (const about of late) reports.push({ kind: 'report', about, type: 'Warning', reason: 'NotDeleted', message });
  const status = budgetStatus(budget, { ...expected, pods, disrupted: kept }, time);
  return { actions: [...reports, ...update(budget, status)], requeueAt: nextExpiry };
}

/** Reports that are made once while their cause lasts. */
export function lastingOf({ budget, pods, others, scales }: Omit<ObservedBudget, 'reported'>): readonly Report[] {
  return lastingReports(budget, pods, others, expectedPods(budget.spec, pods, scales));
}

function update({ status = {} }: PodDisruptionBudget, wanted: PodDisruptionBudgetStatus): Action[] {
  return equalJson(wanted, status) ? [] : [{ kind: 'updateStatus', status: wanted }];
}

/** The time in which a pod must be marked for deletion after its eviction was recorded, as in Kubernetes. */
const DELETION_TIMEOUT_MS = 120_000;

interface DisruptedPods {
  /** Recorded, and expected to be deleted soon. */
  readonly kept: Readonly<Record<string, string>>;
  /** Recorded, but not deleted in time. */
  readonly late: readonly Pod[];
  /** When the next record expires. */
  readonly nextExpiry: Instant | undefined;
}

/** Sorts the evictions recorded in a budget's status by the state of their pods. Those of deleted pods are dropped. */
function disruptedPods({ status }: PodDisruptionBudget, pods: readonly Pod[], now: Instant): DisruptedPods {
  const kept: Record<string, string> = {};
  const late: Pod[] = [];
  let nextExpiry: Instant | undefined;
  for (const pod of pods) {
    const { name = '', deletionTimestamp } = pod.metadata;
    const announced = status?.disruptedPods?.[name];
    if (announced === undefined || deletionTimestamp !== undefined) continue;
    const expiry = Date.parse(announced) + DELETION_TIMEOUT_MS;
    if (expiry <= now) late.push(pod);
    else {
      kept[name] = announced;
      nextExpiry = Math.min(nextExpiry ?? expiry, expiry);
    }
  }
  return { kept, late, nextExpiry };
}

const TARGET = 'DisruptionTarget';
/** How long a pod may have the condition without being deleted, as in Kubernetes. */
export const STALE_MS = 120_000;

export interface ClearTarget {
  readonly kind: 'clearTarget';
  /** The condition as a strategic merge patch. */
  readonly condition: object;
}

/**
 * Sets the condition `DisruptionTarget` to False on a pod that was not deleted within two minutes: its disruption did not happen. A
 * disruption by the agent (`TerminationByKubelet`) may take longer. A pod that has ended keeps the condition.
 */
export function planStaleCondition(pod: Pod, now: Instant): Plan<ClearTarget> {
  const target = targetOf(pod);
  if (target === undefined) return { actions: [] };
  const expiry = Date.parse(target.lastTransitionTime ?? '') + STALE_MS;
  if (expiry > now) return { actions: [], requeueAt: expiry };
  const { generation } = pod.metadata;
  const condition = {
    type: TARGET,
    status: 'False',
    reason: null,
    message: null,
    lastTransitionTime: formatTime(now),
    observedGeneration: generation ?? null,
  };
  return { actions: [{ kind: 'clearTarget', condition }] };
}

/** The condition of a pod if it may become stale. */
export function targetOf(pod: Pod | undefined): PodCondition | undefined {
  if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || hasEnded(pod)) return undefined;
  const target = pod.status?.conditions?.find(({ type }) => type === TARGET);
  return target?.status === 'True' && target.reason !== 'TerminationByKubelet' ? target : undefined;
}
