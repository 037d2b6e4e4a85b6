import { isFinalPhase, type PodCondition, type PodStatus } from '@gantry/objects';
import { OWN_CONDITIONS } from './conditions.ts';

/** The fields of a pod's status that the kubelet owns, without conditions. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  'observedGeneration',
  'phase',
  'hostIP',
  'hostIPs',
  'startTime',
  'reason',
  'message',
  'podIP',
  'podIPs',
  'allocatedResources',
  'resources',
  'containerStatuses',
  'initContainerStatuses',
  'ephemeralContainerStatuses',
]);

/** The kubelet also writes this condition, with the status that ends a pod. */
const SHARED_CONDITION = 'DisruptionTarget';

/**
 * Applies a status that was computed from an older pod to `current`: the kubelet's fields come from `status`, all others from `current`.
 * Undefined when the pod has ended since, so that an older report cannot revive it.
 */
export function rebaseStatus(status: PodStatus, current: PodStatus): PodStatus | undefined {
  if (isFinalPhase(current.phase) && current.phase !== status.phase) return undefined;
  const fields = [
    ...Object.entries(current).filter(([field]) => !OWN_FIELDS.has(field)),
    ...Object.entries(status).filter(([field]) => OWN_FIELDS.has(field)),
  ];
  const ends = isFinalPhase(status.phase) && !isFinalPhase(current.phase);
  const isOwn = ({ type }: PodCondition) => OWN_CONDITIONS.has(type) || (ends && type === SHARED_CONDITION);
  const own = (status.conditions ?? []).filter(isOwn).map((condition) => keepTransition(condition, current));
  const types = new Set(own.map(({ type }) => type));
  const others = (current.conditions ?? []).filter(({ type }) => !OWN_CONDITIONS.has(type) && !types.has(type));
  const conditions = [...own, ...others];
  // The older pod may have had no start time.
  const { startTime = status.startTime } = current;
  return { ...Object.fromEntries(fields), ...(startTime === undefined ? {} : { startTime }), conditions };
}

/** Keeps the transition time of `current` for an equal condition, because the older pod did not know it. */
function keepTransition(condition: PodCondition, { conditions = [] }: PodStatus): PodCondition {
  const known = conditions.find(({ type, status }) => type === condition.type && status === condition.status);
  const { lastTransitionTime } = known ?? condition;
  return lastTransitionTime === undefined ? condition : { ...condition, lastTransitionTime };
}
