import { exponentialBuckets, type Metrics } from '@gantry/service';
import { ENDPOINT_BUCKETS, type SliceMeter, sliceMeter } from '../service-endpoints/slice-meter.shell.ts';
import { MAX_ENDPOINTS } from './plan.ts';

export interface MirrorMeter extends SliceMeter {
  /** A reconcile left out so many addresses and changed so many endpoints. */
  mirrored(skipped: number, updated: number): void;
  /** A reconcile took so long. */
  synced(seconds: number): void;
}

const PREFIX = 'endpoint_slice_mirroring_controller';

export function mirrorMeter(metrics: Metrics): MirrorMeter {
  const updated = metrics.histogram(
    `${PREFIX}_endpoints_updated_per_sync`,
    'Endpoints that a reconcile changed',
    [],
    ENDPOINT_BUCKETS,
  );
  const skipped = metrics.histogram(
    `${PREFIX}_addresses_skipped_per_sync`,
    'Addresses that a reconcile left out',
    [],
    ENDPOINT_BUCKETS,
  );
  const seconds = metrics.histogram(
    `${PREFIX}_endpoints_sync_duration`,
    'Time of one reconcile of Endpoints, in seconds',
    [],
    exponentialBuckets(0.001, 2, 15),
  );
  return {
    ...sliceMeter(metrics, PREFIX, MAX_ENDPOINTS),
    mirrored: (skippedAddresses, updatedEndpoints) => {
      skipped.observe(skippedAddresses);
      updated.observe(updatedEndpoints);
    },
    synced: (took) => seconds.observe(took),
  };
}
