import { formatTime, type Instant } from '@gantry/base';
import type { Pod, ReplicaSet, ReplicaSetCondition, ReplicaSetStatus } from '@gantry/objects';
import { isAvailable, isReady, isTerminating } from '../pods/pod-state.ts';

/** Why pods could not be created or deleted. */
export interface PodFailure {
  readonly reason: 'FailedCreate' | 'FailedDelete';
  readonly message: string;
}

/** The status that follows from the pods; zero counts are left out where Kubernetes leaves them out. */
export function replicaSetStatus(
  replicaSet: ReplicaSet,
  active: readonly Pod[],
  owned: readonly Pod[],
  failure: PodFailure | undefined,
  now: Instant,
): ReplicaSetStatus {
  const minReadySeconds = replicaSet.spec?.minReadySeconds ?? 0;
  const templateLabels = Object.entries(replicaSet.spec?.template?.metadata?.labels ?? {});
  const labelled = active.filter((pod) =>
    templateLabels.every(([key, value]) => pod.metadata.labels?.[key] === value),
  ).length;
  const ready = active.filter(isReady).length;
  const available = active.filter((pod) => isAvailable(pod, minReadySeconds, now)).length;
  const terminating = owned.filter(isTerminating).length;
  const conditions = failureConditions(replicaSet.status?.conditions ?? [], failure, now);
  return {
    replicas: active.length,
    ...(labelled === 0 ? {} : { fullyLabeledReplicas: labelled }),
    ...(ready === 0 ? {} : { readyReplicas: ready }),
    ...(available === 0 ? {} : { availableReplicas: available }),
    terminatingReplicas: terminating,
    ...(replicaSet.metadata.generation === undefined ? {} : { observedGeneration: replicaSet.metadata.generation }),
    ...(conditions.length === 0 ? {} : { conditions }),
  };
}

function failureConditions(
  current: readonly ReplicaSetCondition[],
  failure: PodFailure | undefined,
  now: Instant,
): ReplicaSetCondition[] {
  const others = current.filter((condition) => condition.type !== 'ReplicaFailure');
  if (failure === undefined) return others;
  const existing = current.find((condition) => condition.type === 'ReplicaFailure');
  if (existing?.status === 'True' && existing.reason === failure.reason) return [...current];
  return [
    ...others,
    {
      type: 'ReplicaFailure',
      status: 'True',
      reason: failure.reason,
      message: failure.message,
      lastTransitionTime: formatTime(now),
    },
  ];
}
