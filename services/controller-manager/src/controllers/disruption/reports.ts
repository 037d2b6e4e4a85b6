import {
  type KubeObject,
  type LabelSelector,
  labelSelectorFrom,
  type Pod,
  type PodDisruptionBudget,
} from '@gantry/objects';
import type { ExpectedPods } from './expected-pods.ts';

/** An Event about a budget or a pod. */
export interface Report {
  readonly kind: 'report';
  readonly about: KubeObject;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** A unique id of a report. */
export function reportId({ about, reason, message }: Report): string {
  return `${about.metadata.uid ?? ''} ${reason} ${message}`;
}

/** Events about conditions that last until a budget or its pods change; each is recorded once. */
export function lastingReports(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  others: readonly PodDisruptionBudget[],
  expected: ExpectedPods | { readonly error: string },
): readonly Report[] {
  const about = (type: Report['type'], reason: string, message: string): Report => ({
    kind: 'report',
    about: budget,
    type,
    reason,
    message,
  });
  const reports = sharedPods(budget, pods, others);
  if (pods.length === 0) reports.push(about('Normal', 'NoPods', 'No matching pods found'));
  if ('error' in expected) {
    const message = `Failed to calculate the number of expected pods: ${expected.error}`;
    reports.push(about('Warning', 'CalculateExpectedPodCountFailed', message));
  } else if (expected.unmanaged.length > 0) reports.push(about('Warning', 'UnmanagedPods', unmanagedMessage(budget)));
  return reports;
}

/** Pods that this budget shares with others. Only the first budget by name reports them. */
function sharedPods(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  others: readonly PodDisruptionBudget[],
): Report[] {
  const { name = '' } = budget.metadata;
  const selectors = others
    .map((other) => [other.metadata.name ?? '', labelSelectorFrom(other.spec?.selector)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return pods.flatMap((pod) => {
    // Only the first one by name is needed, so with many budgets for the same pods, the others are not checked.
    const first = selectors.find(([, selector]) => selector.matches(pod.metadata.labels))?.[0];
    if (first === undefined || first < name) return [];
    const which = `${JSON.stringify(pod.metadata.namespace ?? '')}/${JSON.stringify(pod.metadata.name ?? '')}`;
    const message = `Pod ${which} matches multiple PodDisruptionBudgets.  Chose ${JSON.stringify(name)} arbitrarily.`;
    return [{ kind: 'report', about: pod, type: 'Warning', reason: 'MultiplePodDisruptionBudgets', message }];
  });
}

function unmanagedMessage({ spec }: PodDisruptionBudget): string {
  return (
    `Pods selected by this PodDisruptionBudget (selector: ${printSelector(spec?.selector)}) were found to be unmanaged. ` +
    'As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for ' +
    'these pods please set ".spec.minAvailable" field of the PDB to an integer value.'
  );
}

/** A selector as Kubernetes prints it in Events, in the form of a Go struct. */
export function printSelector(selector: LabelSelector | null | undefined): string {
  if (selector === undefined || selector === null) return 'nil';
  const labels = Object.entries(selector.matchLabels ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}: ${value},`);
  const expressions = (selector.matchExpressions ?? []).map(
    ({ key, operator, values = [] }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`,
  );
  const matchLabels = `map[string]string{${labels.join('')}}`;
  const matchExpressions = `[]LabelSelectorRequirement{${expressions.join('')}}`;
  return `&LabelSelector{MatchLabels:${matchLabels},MatchExpressions:${matchExpressions},}`;
}
