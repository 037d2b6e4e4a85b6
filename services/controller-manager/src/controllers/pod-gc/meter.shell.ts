import type { Metrics } from '@gantry/service';

/** Why a pod is deleted without a grace period. */
export type ForcedReason = 'terminated' | 'out-of-service' | 'orphaned' | 'unscheduled';

export interface PodGcMeter {
  /** A pod is deleted without a grace period, or was to be. */
  forced(namespace: string, reason: ForcedReason, result: 'deleted' | 'failed'): void;
}

export function podGcMeter(metrics: Metrics): PodGcMeter {
  const labels = ['namespace', 'reason'];
  const total = metrics.counter(
    'pod_gc_collector_force_delete_pods_total',
    'Pods that were deleted without a grace period',
    labels,
  );
  const errors = metrics.counter(
    'pod_gc_collector_force_delete_pod_errors_total',
    'Pods whose deletion without a grace period failed',
    labels,
  );
  return {
    forced: (namespace, reason, result) => {
      total.inc({ namespace, reason });
      if (result === 'failed') errors.inc({ namespace, reason });
    },
  };
}
