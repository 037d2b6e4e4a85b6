import { isTolerated, MEMORY_PRESSURE_TAINT, type Pod } from '@gantry/objects';
import { isCriticalPod } from './critical-pod.ts';
import type { PodRejection } from './pod-rejection.ts';

/** Pressure conditions of a Node, in the order in which messages list them. */
export type NodePressure = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

const MEMORY_TAINT = { key: MEMORY_PRESSURE_TAINT, effect: 'NoSchedule' };

/**
 * Why a node under pressure rejects a pod, like the kubelet's eviction manager (`Admit`). Under memory pressure alone, it rejects
 * BestEffort pods that do not tolerate it; under any other pressure, all pods. Critical pods are always admitted.
 */
export function pressureRejection(pod: Pod, pressures: readonly NodePressure[]): PodRejection | undefined {
  if (pressures.length === 0 || isCriticalPod(pod)) return undefined;
  if (pressures.length === 1 && pressures[0] === 'MemoryPressure') {
    if (pod.status?.qosClass !== 'BestEffort' || isTolerated(MEMORY_TAINT, pod.spec?.tolerations)) return undefined;
  }
  return { reason: 'Evicted', message: `The node had condition: [${pressures.join(' ')}]. ` };
}
