import type { PodStatus } from '@gantry/api';
import { OWN_CONDITIONS } from './conditions.ts';

/** What kubelet tells of a pod, besides conditions. All else of a status is others'. */
const OWN_PARTS: ReadonlySet<string> = new Set([
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
]);

/**
 * A status that was made from an older pod, as it is to be written over `current`: kubelet's parts of the one, others' parts
 * of the other. Undefined when somebody has ended the pod meanwhile, which a report from before does not take back.
 */
export function rebaseStatus(status: PodStatus, current: PodStatus): PodStatus | undefined {
  if (isOver(current) && current.phase !== status.phase) return undefined;
  const parts = [
    ...Object.entries(current).filter(([part]) => !OWN_PARTS.has(part)),
    ...Object.entries(status).filter(([part]) => OWN_PARTS.has(part)),
  ];
  const conditions = [
    ...(status.conditions ?? []).filter(({ type }) => OWN_CONDITIONS.has(type)),
    ...(current.conditions ?? []).filter(({ type }) => !OWN_CONDITIONS.has(type)),
  ];
  return { ...Object.fromEntries(parts), conditions };
}

function isOver({ phase }: PodStatus): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}
