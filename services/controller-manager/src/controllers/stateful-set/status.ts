import type { Instant } from '@gantry/base';
import type { Pod, StatefulSet, StatefulSetStatus } from '@gantry/objects';
import { isAvailable, isReady } from '../../libraries/pods/pod-state.ts';
import type { SetHistory } from './history.ts';
import { revisionOf } from './identity.ts';

/** Whether a pod is running and ready, for which the ordered policy waits. */
export function isRunningAndReady(pod: Pod): boolean {
  return pod.status?.phase === 'Running' && isReady(pod);
}

/** Whether an update counts a pod as unavailable: it is not available, or being deleted. */
export function isUnavailable(pod: Pod, set: StatefulSet, now: Instant): boolean {
  return pod.metadata.deletionTimestamp !== undefined || !isAvailable(pod, set.spec?.minReadySeconds ?? 0, now);
}

/**
 * The status computed from a set's pods. `leaving` are pods that are being deleted for an update. A rolling update is complete when all
 * pods are updated and ready: its revision then becomes the current one.
 */
export function statefulSetStatus(
  set: StatefulSet,
  { current, update }: Pick<SetHistory, 'current' | 'update'>,
  pods: readonly Pod[],
  leaving: readonly Pod[],
  now: Instant,
): StatefulSetStatus {
  const ready = pods.filter(isRunningAndReady);
  const staying = pods.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  const updated = staying.filter((pod) => revisionOf(pod) === update.name).length;
  const isComplete =
    set.spec?.updateStrategy?.type === 'RollingUpdate' &&
    [updated, ready.length, pods.length].every((count) => count === (set.spec?.replicas ?? 1));
  const currentPods = staying.filter((pod) => revisionOf(pod) === current.name && !leaving.includes(pod)).length;
  const minReadySeconds = set.spec?.minReadySeconds ?? 0;
  return {
    observedGeneration: set.metadata.generation,
    replicas: pods.length,
    ...count('readyReplicas', ready.length),
    availableReplicas: ready.filter((pod) => isAvailable(pod, minReadySeconds, now)).length,
    ...count('currentReplicas', isComplete ? updated : currentPods),
    ...count('updatedReplicas', updated),
    currentRevision: isComplete ? update.name : current.name,
    updateRevision: update.name,
    collisionCount: set.status?.collisionCount ?? 0,
    conditions: set.status?.conditions,
  };
}

/** Whether a status differs from the set's. Conditions are ignored, because others may write them. */
export function differs(set: StatefulSet, status: StatefulSetStatus): boolean {
  const old: Partial<StatefulSetStatus> = set.status ?? {};
  return (
    (['replicas', 'readyReplicas', 'availableReplicas', 'currentReplicas', 'updatedReplicas'] as const).some(
      (field) => (status[field] ?? 0) !== (old[field] ?? 0),
    ) ||
    (status.observedGeneration ?? 0) > (old.observedGeneration ?? 0) ||
    status.currentRevision !== (old.currentRevision ?? '') ||
    status.updateRevision !== (old.updateRevision ?? '')
  );
}

function count<K extends string>(field: K, value: number): { [key in K]?: number } {
  return value === 0 ? {} : ({ [field]: value } as { [key in K]: number });
}
