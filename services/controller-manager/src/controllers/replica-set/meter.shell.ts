import { exponentialBuckets, type Metrics } from '@gantry/service';

export interface PodSetMeter {
  /** A ready pod was chosen for deletion that is so many times as old as the youngest one. */
  choseAge(ratio: number): void;
}

/** One metric for ReplicaSets and ReplicationControllers, as in Kubernetes. */
export function podSetMeter(metrics: Metrics): PodSetMeter {
  const ratios = metrics.histogram(
    'replicaset_controller_sorting_deletion_age_ratio',
    'The age of a pod that was chosen for deletion, as a multiple of that of the youngest one',
    [],
    exponentialBuckets(0.25, 2, 6),
  );
  return { choseAge: (ratio) => ratios.observe(ratio) };
}
