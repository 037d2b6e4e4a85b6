import { isNative } from '../../pod-spec/compute-resources.ts';
import type { QuotaUsage } from '@gantry/apimachinery';
import { isFinalPhase, type Pod, podAmountsWithOverhead, withHeldResources } from '@gantry/objects';
import { type Amounts, satisfiesScope } from '../../fields/quota.ts';

const COMPUTE: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage']);

/** Quotas count pods by number and by their requests and limits. */
export const podQuota: QuotaUsage<Pod> = {
  limits: (name) =>
    name === 'pods' ||
    COMPUTE.has(name.replace(/^(requests|limits)\./, '')) ||
    /^(requests\.)?hugepages-/.test(name) ||
    (name.startsWith('requests.') && !isNative(name)),
  usage: podUsage,
  isInScope: podInScope,
};

/**
 * Ended pods, and pods whose grace period is over, count only as objects. A pod that is being resized counts with the larger of its old and
 * new resources.
 */
function podUsage(pod: Pod, now: number): Amounts {
  const { metadata, status } = pod;
  const { spec } = withHeldResources(pod);
  if (spec === undefined || isFinalPhase(status?.phase)) return {};
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if (deletionTimestamp !== undefined && deletionGracePeriodSeconds !== undefined) {
    if (now > Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000) return {};
  }
  const usage: Record<string, string> = { pods: '1' };
  for (const [name, amount] of Object.entries(podAmountsWithOverhead(spec, 'requests'))) {
    if (COMPUTE.has(name) || name.startsWith('hugepages-')) usage[name] = amount;
    usage[`requests.${name}`] = amount;
  }
  for (const [name, amount] of Object.entries(podAmountsWithOverhead(spec, 'limits'))) {
    if (COMPUTE.has(name)) usage[`limits.${name}`] = amount;
  }
  return usage;
}

/** Whether a pod ends by itself. */
export function isTerminating({ spec }: Pod): boolean {
  return (spec?.activeDeadlineSeconds ?? -1) >= 0;
}

function podInScope(pod: Pod, scope: string, operator: string, values: readonly string[]): boolean {
  const { spec } = pod;
  const className = spec?.priorityClassName ?? '';
  switch (scope) {
    case 'Terminating':
      return isTerminating(pod);
    case 'NotTerminating':
      return !isTerminating(pod);
    case 'BestEffort':
      return spec !== undefined && isBestEffort({ spec });
    case 'NotBestEffort':
      return spec !== undefined && !isBestEffort({ spec });
    case 'PriorityClass':
      return satisfiesScope(className === '' ? [] : [className], operator, values);
    case 'CrossNamespacePodAffinity':
      return crossesNamespaces(spec);
    default:
      return false;
  }
}

function isBestEffort({ spec }: Pick<Pod, 'spec'>): boolean {
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  return [...containers, { resources: spec?.resources }].every(({ resources }) =>
    [resources?.requests, resources?.limits].every(
      (amounts) => (amounts?.['cpu'] ?? '0') === '0' && (amounts?.['memory'] ?? '0') === '0',
    ),
  );
}

function crossesNamespaces(spec: Pod['spec']): boolean {
  const { podAffinity, podAntiAffinity } = spec?.affinity ?? {};
  const terms = [podAffinity, podAntiAffinity].flatMap((affinity) => [
    ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((one) => one.podAffinityTerm),
  ]);
  return terms.some((term) => (term.namespaces ?? []).length > 0 || term.namespaceSelector !== undefined);
}
