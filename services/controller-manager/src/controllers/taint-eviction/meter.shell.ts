import type { Metrics } from '@gantry/service';

export interface TaintEvictionMeter {
  /** A pod was deleted so many seconds after its toleration had run out. */
  deleted(secondsLate: number): void;
}

/** Kubernetes' buckets, in seconds: from 5 ms to 4 minutes. */
const BUCKETS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240];

export function taintEvictionMeter(metrics: Metrics): TaintEvictionMeter {
  const total = metrics.counter(
    'taint_eviction_controller_pod_deletions_total',
    'Pods that were deleted because of a NoExecute taint',
  );
  const seconds = metrics.histogram(
    'taint_eviction_controller_pod_deletion_duration_seconds',
    'How long after the end of its toleration a pod was deleted',
    [],
    BUCKETS,
  );
  return {
    deleted: (secondsLate) => {
      total.inc();
      seconds.observe(secondsLate);
    },
  };
}
