import type { Service } from '@gantry/objects';
import type { Metrics } from '@gantry/service';
import { type SliceMeter, sliceMeter } from '../service-endpoints/slice-meter.shell.ts';
import { hintMode, hintsByShare } from './hints.ts';
import { MAX_ENDPOINTS } from './plan.ts';

export interface EndpointSliceMeter extends SliceMeter {
  /** A reconcile of a Service wrote so many slices. */
  wrote(service: Service, slices: number): void;
  /** A reconcile has ended. None is `stale`: the cache shows the controller's own writes before it begins. */
  synced(result: 'success' | 'error'): void;
  /** What a Service says of the distribution of its traffic. */
  distributes(id: string, service: Service): void;
}

/** Prometheus' default, which Kubernetes leaves in place here. */
const DEFAULT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const PREFIX = 'endpoint_slice_controller';

export function endpointSliceMeter(metrics: Metrics): EndpointSliceMeter {
  const slices = sliceMeter(metrics, PREFIX, MAX_ENDPOINTS);
  const distributions = new Map<string, string>();
  const changed = metrics.histogram(
    `${PREFIX}_endpointslices_changed_per_sync`,
    'Slices that a reconcile wrote',
    ['topology', 'traffic_distribution'],
    DEFAULT_BUCKETS,
  );
  const syncs = metrics.counter(`${PREFIX}_syncs`, 'Reconciles of Services', ['result']);
  metrics.gauge(
    `${PREFIX}_services_count_by_traffic_distribution`,
    'Services by their trafficDistribution',
    ['traffic_distribution'],
    ({ set }) => {
      for (const [traffic_distribution, of] of Map.groupBy(distributions.values(), (value) => value))
        set(of.length, { traffic_distribution });
    },
  );
  return {
    ...slices,
    wrote: (service, count) => {
      const topology = hintsByShare(service) ? 'Auto' : 'Disabled';
      const traffic_distribution = hintMode(service) === 'none' ? '' : (service.spec?.trafficDistribution ?? '');
      changed.observe(count, { topology, traffic_distribution });
    },
    synced: (result) => syncs.inc({ result }),
    distributes: (id, service) => {
      const value = service.spec?.trafficDistribution;
      if (value === undefined || hintMode(service) === 'none') distributions.delete(id);
      else distributions.set(id, value);
    },
    forget: (id) => {
      slices.forget(id);
      distributions.delete(id);
    },
    clear: () => {
      slices.clear();
      distributions.clear();
    },
  };
}
