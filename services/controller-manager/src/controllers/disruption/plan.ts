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

/** What the plan looks at. */
export interface ObservedBudget {
  readonly budget: PodDisruptionBudget;
  /** The pods that it selects, by name. */
  readonly pods: readonly Pod[];
  /** The other budgets of its namespace. */
  readonly others: readonly PodDisruptionBudget[];
  /** The scale of each pod's controller, by the uid of the controller reference; needed for shares and `maxUnavailable`. */
  readonly scales: ReadonlyMap<string, ControllerScale>;
  /** Ids of what `lastingOf` gave when this budget was last planned. */
  readonly reported: ReadonlySet<string>;
}

export type Action = { readonly kind: 'updateStatus'; readonly status: PodDisruptionBudgetStatus } | Report;

/**
 * Keeps the status of a disruption budget: how many of its pods are healthy and must be, and how many may be evicted now. An
 * error in counting forbids all evictions. A pod that the eviction subresource has announced counts as gone for two minutes.
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

/** What is to be reported once for as long as it lasts. */
export function lastingOf({ budget, pods, others, scales }: Omit<ObservedBudget, 'reported'>): readonly Report[] {
  return lastingReports(budget, pods, others, expectedPods(budget.spec, pods, scales));
}

function update({ status = {} }: PodDisruptionBudget, wanted: PodDisruptionBudgetStatus): Action[] {
  return equalJson(wanted, status) ? [] : [{ kind: 'updateStatus', status: wanted }];
}

/** How long a pod that an eviction announced may take to be marked for deletion, as in Kubernetes. */
const DELETION_TIMEOUT_MS = 120_000;

interface DisruptedPods {
  /** Announced, and expected to be deleted soon. */
  readonly kept: Readonly<Record<string, string>>;
  /** Announced, and not deleted in time. */
  readonly late: readonly Pod[];
  /** When the next announcement ends. */
  readonly nextExpiry: Instant | undefined;
}

/** Sorts the evictions that a budget's status announces by what became of their pods; those of deleted pods are dropped. */
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
const STALE_MS = 120_000;

export interface ClearTarget {
  readonly kind: 'clearTarget';
  /** The condition of the status, as a strategic merge. */
  readonly condition: object;
}

/**
 * Sets the condition `DisruptionTarget` to False on a pod that was not deleted within two minutes: its disruption did not come.
 * The agent's own (`TerminationByKubelet`) may take longer, and a pod that has ended keeps it.
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

/** The condition of a pod that may turn out to be stale. */
export function targetOf(pod: Pod | undefined): PodCondition | undefined {
  if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || hasEnded(pod)) return undefined;
  const target = pod.status?.conditions?.find(({ type }) => type === TARGET);
  return target?.status === 'True' && target.reason !== 'TerminationByKubelet' ? target : undefined;
}
