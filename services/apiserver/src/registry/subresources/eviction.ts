import {
  type Condition,
  type Eviction,
  type LabelSelector,
  type Pod,
  type PodDisruptionBudget,
  StatusError,
  cloneJson,
  invalid,
  labelSelectorFrom,
} from '@gantry/objects';
import { formatTime, type Instant } from '@gantry/base';
import type { DeleteOptions } from '../contract/registry.ts';

/** The short name of the schema of the eviction subresource. */
export const EVICTION_SCHEMA = 'policy.v1.Eviction';

/** Maximum number of evictions that the disruption controller has not observed yet. */
const MAX_DISRUPTED_PODS = 2000;
const RETRY_SECONDS = 10;
const REFUSED = "Cannot evict pod as it would violate the pod's disruption budget.";
const BUDGETS = { group: 'policy', resource: 'poddisruptionbudget' };
const PROPAGATION = ['Orphan', 'Background', 'Foreground'] as const;

/** The delete options of an eviction. Throws BadRequest or Invalid. */
export function evictionDeleteOptions(
  eviction: Eviction,
  dryRun: boolean,
): { options: DeleteOptions; dryRun: boolean } {
  const { deleteOptions = {} } = eviction;
  const { propagationPolicy, gracePeriodSeconds, orphanDependents, preconditions } = deleteOptions;
  if (deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential === true) {
    throw StatusError.invalid('policy', 'Eviction', eviction.metadata?.name ?? '', [
      invalid(
        'deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential',
        true,
        'can not be set for pod eviction, try after removing the option',
      ),
    ]);
  }
  const known = PROPAGATION.find((policy) => policy === propagationPolicy);
  if (propagationPolicy !== undefined && known === undefined) {
    throw StatusError.invalid('meta.k8s.io', 'DeleteOptions', '', [
      {
        type: 'FieldValueNotSupported',
        field: 'propagationPolicy',
        value: propagationPolicy,
        detail: 'supported values: "Foreground", "Background", "Orphan", "nil"',
      },
    ]);
  }
  return {
    options: {
      gracePeriodSeconds,
      preconditions: preconditions ?? {},
      propagationPolicy: known,
      orphanDependents,
    },
    dryRun: dryRun || (deleteOptions.dryRun ?? []).length > 0,
  };
}

/** Whether the eviction of a pod disrupts nothing: the pod is pending, has ended, or is being deleted. */
export function needsNoBudget({ metadata, status }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined || ['Succeeded', 'Failed', 'Pending'].includes(status?.phase ?? '');
}

/** The budgets that select a pod. A budget without a selector selects no pods. */
export function budgetsOf(pod: Pod, budgets: readonly PodDisruptionBudget[]): readonly PodDisruptionBudget[] {
  const labels = pod.metadata.labels ?? {};
  return budgets.filter(({ spec }) => {
    const selector: LabelSelector | undefined = spec?.selector ?? undefined;
    return selector !== undefined && labelSelectorFrom(selector).matches(labels);
  });
}

/** Whether a pod that is not ready may be evicted without taking a disruption from the budget. */
export function isUncounted(pod: Pod, { spec, status }: PodDisruptionBudget): boolean {
  const isReady = (pod.status?.conditions ?? []).some(({ type, status: is }) => type === 'Ready' && is === 'True');
  if (isReady) return false;
  if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  const desired = status?.desiredHealthy ?? 0;
  return desired > 0 && (status?.currentHealthy ?? 0) >= desired;
}

/** Returns the budget with one disruption less and with the pod recorded. Throws when the budget allows no disruption. Pure. */
export function takeDisruption(budget: PodDisruptionBudget, podName: string, now: Instant): PodDisruptionBudget {
  const { name = '', generation = 0 } = budget.metadata;
  const status = budget.status ?? {};
  const { disruptionsAllowed = 0, disruptedPods = {} } = status;
  if ((status.observedGeneration ?? 0) < generation) throw stillProcessed(name);
  if (disruptionsAllowed < 0) throw StatusError.forbidden(BUDGETS, name, 'pdb disruptions allowed is negative');
  if (Object.keys(disruptedPods).length > MAX_DISRUPTED_PODS) {
    const why = 'DisruptedPods map too big - too many evictions not confirmed by PDB controller';
    throw StatusError.forbidden(BUDGETS, name, why);
  }
  if (disruptionsAllowed === 0) throw refusal(whyNone(budget));
  const taken = cloneJson(budget);
  taken.status = {
    ...cloneJson(status),
    disruptionsAllowed: disruptionsAllowed - 1,
    disruptedPods: { ...disruptedPods, [podName]: formatTime(now) },
  };
  if (disruptionsAllowed === 1) taken.status.conditions = exhausted(taken, now);
  return taken;
}

function exhausted({ status }: PodDisruptionBudget, now: Instant): Condition[] {
  const conditions = status?.conditions ?? [];
  const old = conditions.find(({ type }) => type === 'DisruptionAllowed');
  const condition: Condition = {
    type: 'DisruptionAllowed',
    status: 'False',
    reason: 'InsufficientPods',
    message: '',
    lastTransitionTime: old?.status === 'False' ? old.lastTransitionTime : formatTime(now),
    observedGeneration: status?.observedGeneration,
  };
  return old === undefined ? [...conditions, condition] : conditions.map((one) => (one === old ? condition : one));
}

function whyNone({ metadata, status }: PodDisruptionBudget): string {
  const name = metadata.name ?? '';
  const { desiredHealthy = 0, currentHealthy = 0, conditions = [] } = status ?? {};
  const condition = conditions.find(({ type }) => type === 'DisruptionAllowed');
  const { message = '', reason = '' } = condition?.status === 'False' ? condition : {};
  const none = `The disruption budget ${name} does not allow evicting pods currently`;
  if (message !== '' && reason === 'SyncFailed') return `${none} because it failed sync: ${message}`;
  if (currentHealthy <= desiredHealthy) {
    return `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  }
  return message === '' ? none : `${none} (${reason}): ${message}`;
}

/** The error 429: the disruption controller has not caught up, or the pod has changed during an uncounted eviction. */
export function stillProcessed(name: string): StatusError {
  return refusal(`The disruption budget ${name} is still being processed by the server.`, RETRY_SECONDS);
}

function refusal(message: string, retryAfterSeconds?: number): StatusError {
  return new StatusError('TooManyRequests', REFUSED, {
    details: { retryAfterSeconds, causes: [{ reason: 'DisruptionBudget', message }] },
  });
}

/** Returns a copy of the pod with the condition DisruptionTarget. Pure. */
export function withDisruptionTarget(pod: Pod, now: Instant): Pod {
  const marked = cloneJson(pod);
  const conditions = pod.status?.conditions ?? [];
  const old = conditions.find(({ type }) => type === 'DisruptionTarget');
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
    lastProbeTime: old?.lastProbeTime ?? null,
    lastTransitionTime: old?.status === 'True' ? old.lastTransitionTime : formatTime(now),
  } as (typeof conditions)[number];
  marked.status = {
    ...marked.status,
    conditions:
      old === undefined ? [...conditions, condition] : conditions.map((one) => (one === old ? condition : one)),
  };
  return marked;
}
