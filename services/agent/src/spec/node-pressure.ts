import { isTolerated, MEMORY_PRESSURE_TAINT, type Pod } from '@gantry/objects';
import { isCriticalPod } from './critical-pod.ts';
import type { PodRejection } from './pod-rejection.ts';

/** Conditions of a Node that is short of something, in the order in which messages name them. */
export type NodePressure = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

const MEMORY_TAINT = { key: MEMORY_PRESSURE_TAINT, effect: 'NoSchedule' };

/**
 * Why a node under pressure takes no new pod, as the kubelet's eviction manager decides (`Admit`): under memory pressure alone it refuses
 * BestEffort pods that do not tolerate it, under any other all pods; critical ones are always taken.
 */
export function pressureRejection(pod: Pod, pressures: readonly NodePressure[]): PodRejection | undefined {
  if (pressures.length === 0 || isCriticalPod(pod)) return undefined;
  if (pressures.length === 1 && pressures[0] === 'MemoryPressure') {
    if (pod.status?.qosClass !== 'BestEffort' || isTolerated(MEMORY_TAINT, pod.spec?.tolerations)) return undefined;
  }
  return { reason: 'Evicted', message: `The node had condition: [${pressures.join(' ')}]. ` };
}
