import { formatTime, type Instant, type Plan } from '@gantry/base';
import { equalJson, type Pod, type PodDisruptionBudget, type PodDisruptionBudgetStatus } from '@gantry/objects';
import { disruptedPods } from './disrupted-pods.ts';
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
