import type { ReplicaSet, ReplicationController } from '@gantry/objects';

/** A ReplicaSet or a ReplicationController. They have different forms of selectors, and only ReplicaSets report terminating pods. */
export type PodSet = ReplicaSet | ReplicationController;

export function desiredReplicas(set: PodSet): number {
  return set.spec?.replicas ?? 1;
}
