import type { Metrics } from '@gantry/service';

export interface EphemeralVolumeMeter {
  /** The claim of a pod's volume was to be created. */
  created(result: 'created' | 'failed'): void;
}

export function ephemeralVolumeMeter(metrics: Metrics): EphemeralVolumeMeter {
  const total = metrics.counter('ephemeral_volume_controller_create_total', 'Creations of claims');
  const failures = metrics.counter(
    'ephemeral_volume_controller_create_failures_total',
    'Creations of claims that failed',
  );
  return {
    created: (result) => {
      total.inc();
      if (result === 'failed') failures.inc();
    },
  };
}
