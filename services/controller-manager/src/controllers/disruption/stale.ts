import { formatTime, type Instant, type Plan } from '@gantry/base';
import { hasEnded, type Pod, type PodCondition } from '@gantry/objects';

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
