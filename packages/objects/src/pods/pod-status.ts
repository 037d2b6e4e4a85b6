import { formatTime, type Instant } from '@gantry/base';
import type { ContainerStatus, Pod, PodCondition } from '../generated/types.ts';

/** The status of a container of any kind; undefined where the pod has none. */
export function containerStatusOf({ status = {} }: Pod, container: string): ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = status;
  const all = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses];
  return all.find(({ name }) => name === container);
}

/** The containerID of a container's previous run, from lastState; '' if there is none. */
export function lastRunOf(pod: Pod, container: string): string {
  return containerStatusOf(pod, container)?.lastState?.terminated?.containerID ?? '';
}

/** Whether a pod has ended: its phase is `Succeeded` or `Failed`, which are final. False for undefined. */
export function hasEnded(pod: Pod | undefined): boolean {
  return isFinalPhase(pod?.status?.phase);
}

/** Whether a phase of a pod is its last one. */
export function isFinalPhase(phase: string | undefined): phase is 'Succeeded' | 'Failed' {
  return phase === 'Succeeded' || phase === 'Failed';
}

/** The condition with the reason for a pod's deletion. If the pod already has one for another reason, its transition time is kept. */
export function disruptionTarget(
  { metadata, status }: Pod,
  reason: string,
  message: string,
  now: Instant,
): PodCondition {
  const { generation } = metadata;
  const before = status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  const since = before?.status === 'True' ? before.lastTransitionTime : undefined;
  return {
    type: 'DisruptionTarget',
    status: 'True',
    reason,
    message,
    lastTransitionTime: since ?? formatTime(now),
    observedGeneration: generation,
  };
}
