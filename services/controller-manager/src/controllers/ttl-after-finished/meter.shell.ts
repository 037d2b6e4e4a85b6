import { exponentialBuckets, type Metrics } from '@gantry/service';

export interface TtlMeter {
  /** A Job was deleted so many seconds after its time had run out. */
  deleted(secondsLate: number): void;
}

export function ttlMeter(metrics: Metrics): TtlMeter {
  const seconds = metrics.histogram(
    'ttl_after_finished_controller_job_deletion_duration_seconds',
    'How long after its time a finished Job was deleted',
    [],
    exponentialBuckets(0.1, 2, 14),
  );
  return { deleted: (secondsLate) => seconds.observe(secondsLate) };
}
