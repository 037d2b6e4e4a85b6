import type { Endpoint, EndpointSlice, Service } from '@gantry/objects';
import { type Counter, exponentialBuckets, type Metrics } from '@gantry/service';
import { MAX_ENDPOINTS as MAX_MIRRORED } from '../controllers/endpoint-slice-mirroring/plan.ts';
import { hintMode, hintsByShare } from '../controllers/endpoint-slice/hints.ts';
import { MAX_ENDPOINTS } from '../controllers/endpoint-slice/plan.ts';
import { endpointId, equalEndpoints } from '../libraries/service-endpoints/packing.ts';
import type { SliceAction } from '../libraries/service-endpoints/slices.ts';

/** The metrics of a controller of EndpointSlices, with Kubernetes' names. */
export interface SliceMeter {
  /** Records the planning of an owner's slices: the current slices and the actions on them. */
  planned(id: string, slices: readonly EndpointSlice[], actions: readonly SliceAction[]): SliceTotals;
  /** Records a written slice. */
  changed(operation: SliceAction['kind']): void;
  /** Forgets an owner that no longer has slices. */
  forget(id: string): void;
  /** Forgets all owners: another leader has them. */
  clear(): void;
}

/** The number of endpoints that a plan adds, changes and removes. */
interface SliceTotals {
  readonly added: number;
  readonly updated: number;
  readonly removed: number;
}

/** Counts of an owner's slices. */
interface Count {
  readonly endpoints: number;
  readonly slices: number;
  /** The minimum number of slices for the endpoints. */
  readonly desired: number;
}

const NOTHING: SliceTotals = { added: 0, updated: 0, removed: 0 };

/** Kubernetes' buckets for numbers of endpoints and addresses. */
const ENDPOINT_BUCKETS = exponentialBuckets(2, 2, 15);

/** `max` is the maximum number of endpoints per slice. */
function sliceMeter(metrics: Metrics, prefix: string, max: number): SliceMeter {
  const counts = new Map<string, Count>();
  const added = metrics.histogram(
    `${prefix}_endpoints_added_per_sync`,
    'Endpoints that a reconcile added',
    [],
    ENDPOINT_BUCKETS,
  );
  const removed = metrics.histogram(
    `${prefix}_endpoints_removed_per_sync`,
    'Endpoints that a reconcile removed',
    [],
    ENDPOINT_BUCKETS,
  );
  const gauge = (name: string, help: string, of: (count: Count) => number) =>
    metrics.gauge(`${prefix}_${name}`, help, [], ({ set }) =>
      set([...counts.values()].reduce((sum, one) => sum + of(one), 0)),
    );
  gauge('endpoints_desired', 'Endpoints that slices are to hold', ({ endpoints }) => endpoints);
  gauge('num_endpoint_slices', 'Existing slices', ({ slices }) => slices);
  gauge('desired_endpoint_slices', 'Slices that would be needed if each were full', ({ desired }) => desired);
  const changes: Counter = metrics.counter(`${prefix}_changes`, 'Writes of slices', ['operation']);
  const observed = (totals: SliceTotals) => {
    added.observe(totals.added);
    removed.observe(totals.removed);
    return totals;
  };
  return {
    planned: (id, slices, actions) => {
      if (actions.length === 0 && counts.has(id)) return observed(NOTHING);
      const after = applied(slices, actions);
      counts.set(id, countSlices(after, max));
      return observed(compareEndpoints(endpointsOf(slices), endpointsOf(after)));
    },
    changed: (operation) => changes.inc({ operation }),
    forget: (id) => void counts.delete(id),
    clear: () => counts.clear(),
  };
}

function applied(slices: readonly EndpointSlice[], actions: readonly SliceAction[]): readonly EndpointSlice[] {
  const written = new Set(actions.flatMap(({ kind, slice }) => (kind === 'create' ? [] : [slice.metadata.name])));
  return [
    ...slices.filter(({ metadata }) => !written.has(metadata.name)),
    ...actions.flatMap(({ kind, slice }) => (kind === 'delete' ? [] : [slice])),
  ];
}

function groupOf({ addressType, ports }: EndpointSlice): string {
  return `${addressType} ${JSON.stringify(ports ?? [])}`;
}

function endpointsOf(slices: readonly EndpointSlice[]): ReadonlyMap<string, Endpoint> {
  const all = new Map<string, Endpoint>();
  for (const slice of slices) {
    const group = groupOf(slice);
    for (const endpoint of slice.endpoints ?? []) all.set(`${group} ${endpointId(endpoint)}`, endpoint);
  }
  return all;
}

function compareEndpoints(before: ReadonlyMap<string, Endpoint>, after: ReadonlyMap<string, Endpoint>): SliceTotals {
  let added = 0;
  let updated = 0;
  for (const [id, endpoint] of after) {
    const old = before.get(id);
    if (old === undefined) added++;
    else if (!equalEndpoints(old, endpoint)) updated++;
  }
  return { added, updated, removed: before.size + added - after.size };
}

function countSlices(slices: readonly EndpointSlice[], max: number): Count {
  const groups = Map.groupBy(slices, groupOf);
  const sizes = [...groups.values()].map((group) =>
    group.reduce((sum, slice) => sum + (slice.endpoints ?? []).length, 0),
  );
  return {
    endpoints: sizes.reduce((sum, size) => sum + size, 0),
    slices: slices.length,
    desired: sizes.reduce((sum, size) => sum + Math.ceil(size / max), 0),
  };
}

export interface EndpointSliceMeter extends SliceMeter {
  /** Records the number of slices that a reconcile of a Service wrote. */
  wrote(service: Service, slices: number): void;
  /** Records the end of a reconcile. None is `stale`: a reconcile starts only when the cache shows the controller's own writes. */
  synced(result: 'success' | 'error'): void;
  /** Records a Service's traffic distribution. */
  distributes(id: string, service: Service): void;
}

/** Prometheus' default buckets, which Kubernetes uses here. */
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

export interface MirrorMeter extends SliceMeter {
  /** Records the number of left-out addresses and changed endpoints of a reconcile. */
  mirrored(skipped: number, updated: number): void;
  /** Records the duration of a reconcile. */
  synced(seconds: number): void;
}

const MIRRORING = 'endpoint_slice_mirroring_controller';

export function mirrorMeter(metrics: Metrics): MirrorMeter {
  const updated = metrics.histogram(
    `${MIRRORING}_endpoints_updated_per_sync`,
    'Endpoints that a reconcile changed',
    [],
    ENDPOINT_BUCKETS,
  );
  const skipped = metrics.histogram(
    `${MIRRORING}_addresses_skipped_per_sync`,
    'Addresses that a reconcile left out',
    [],
    ENDPOINT_BUCKETS,
  );
  const seconds = metrics.histogram(
    `${MIRRORING}_endpoints_sync_duration`,
    'Time of one reconcile of Endpoints, in seconds',
    [],
    exponentialBuckets(0.001, 2, 15),
  );
  return {
    ...sliceMeter(metrics, MIRRORING, MAX_MIRRORED),
    mirrored: (skippedAddresses, updatedEndpoints) => {
      skipped.observe(skippedAddresses);
      updated.observe(updatedEndpoints);
    },
    synced: (took) => seconds.observe(took),
  };
}
