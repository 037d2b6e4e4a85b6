import type { Metrics } from '@gantry/service';

export interface GarbageMeter {
  /** A resource could not be listed: its objects, and owners among them, are not known. */
  unlisted(): void;
}

export function garbageMeter(metrics: Metrics): GarbageMeter {
  const errors = metrics.counter(
    'garbagecollector_controller_resources_sync_error_total',
    'Failed attempts to list a resource of which no objects are known yet',
  );
  return { unlisted: () => errors.inc() };
}
