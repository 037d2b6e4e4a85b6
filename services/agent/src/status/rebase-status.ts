import type { PodStatus } from '@gantry/objects';
import { OWN_CONDITIONS } from './conditions.ts';

/** The fields of a pod's status that kubelet owns, without conditions. */
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
  'containerStatuses',
  'initContainerStatuses',
  'ephemeralContainerStatuses',
]);

/**
 * Applies a status that was computed from an older pod to `current`: kubelet's fields of the new one, all other fields of
 * `current`. Undefined when the pod has ended since: an older report must not revive it.
 */
export function rebaseStatus(status: PodStatus, current: PodStatus): PodStatus | undefined {
  if (isOver(current) && current.phase !== status.phase) return undefined;
  const fields = [
    ...Object.entries(current).filter(([field]) => !OWN_FIELDS.has(field)),
    ...Object.entries(status).filter(([field]) => OWN_FIELDS.has(field)),
  ];
  const conditions = [
    ...(status.conditions ?? []).filter(({ type }) => OWN_CONDITIONS.has(type)),
    ...(current.conditions ?? []).filter(({ type }) => !OWN_CONDITIONS.has(type)),
  ];
  return { ...Object.fromEntries(fields), conditions };
}

function isOver({ phase }: PodStatus): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}
