import { formatTime, type Instant } from '@gantry/base';
import type { Pod, ReplicaSet, ReplicaSetCondition, ReplicaSetStatus, ReplicationController } from '@gantry/objects';
import { isAvailable, isReady } from '../../libraries/pods/pod-state.ts';

const REPLICA_FAILURE = 'ReplicaFailure';

/** Why pods could not be created or deleted. */
export interface PodFailure {
  readonly reason: 'FailedCreate' | 'FailedDelete';
  readonly message: string;
}

interface CountedPods {
  readonly active: readonly Pod[];
  readonly terminating: readonly Pod[];
}

/** The status computed from the pods. Zero counts are omitted as in Kubernetes. */
export function podSetStatus(
  set: PodSet,
  { active, terminating }: CountedPods,
  failure: PodFailure | undefined,
  now: Instant,
): ReplicaSetStatus {
  const counts = countPods(set, active, now);
  const conditions = failureConditions(set.status?.conditions ?? [], failure, now);
  return {
    replicas: active.length,
    fullyLabeledReplicas: counts.labelled || undefined,
    readyReplicas: counts.ready || undefined,
    availableReplicas: counts.available || undefined,
    ...(set.kind === 'ReplicaSet' ? { terminatingReplicas: terminating.length } : {}),
    observedGeneration: set.metadata.generation,
    ...(conditions.length === 0 ? {} : { conditions }),
  };
}

function countPods({ spec }: PodSet, active: readonly Pod[], now: Instant) {
  const templateLabels = Object.entries(spec?.template?.metadata?.labels ?? {});
  const minReadySeconds = spec?.minReadySeconds ?? 0;
  const counts = { labelled: 0, ready: 0, available: 0 };
  for (const pod of active) {
    const { labels } = pod.metadata;
    if (templateLabels.every(([key, value]) => labels?.[key] === value)) counts.labelled += 1;
    if (!isReady(pod)) continue;
    counts.ready += 1;
    if (isAvailable(pod, minReadySeconds, now)) counts.available += 1;
  }
  return counts;
}

/** The first failure stays as reported until pod changes succeed. */
function failureConditions(
  current: readonly ReplicaSetCondition[],
  failure: PodFailure | undefined,
  now: Instant,
): ReplicaSetCondition[] {
  if (failure === undefined) return current.filter(({ type }) => type !== REPLICA_FAILURE);
  if (current.some(({ type }) => type === REPLICA_FAILURE)) return [...current];
  const { reason, message } = failure;
  return [...current, { type: REPLICA_FAILURE, status: 'True', lastTransitionTime: formatTime(now), reason, message }];
}

/** A ReplicaSet or a ReplicationController. Their selectors have different forms, and only ReplicaSets report terminating pods. */
export type PodSet = ReplicaSet | ReplicationController;

export function desiredReplicas(set: PodSet): number {
  return set.spec?.replicas ?? 1;
}
