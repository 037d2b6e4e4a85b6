import type { Endpoint, EndpointSlice } from '@gantry/objects';
import { exponentialBuckets, type Counter, type Metrics } from '@gantry/service';
import { endpointId, equalEndpoints } from './packing.ts';
import type { SliceAction } from './slices.ts';

/** What a controller of EndpointSlices reports, under the names of its own in Kubernetes. */
export interface SliceMeter {
  /** The slices of an owner, by its key, were planned: as they are, and what is done with them. */
  planned(id: string, slices: readonly EndpointSlice[], actions: readonly SliceAction[]): SliceTotals;
  /** A slice was written. */
  changed(operation: SliceAction['kind']): void;
  /** The owner has no slices any longer. */
  forget(id: string): void;
  /** Forgets all owners: another leader has them. */
  clear(): void;
}

/** How many endpoints a plan adds, changes and removes. */
export interface SliceTotals {
  readonly added: number;
  readonly updated: number;
  readonly removed: number;
}

/** The slices of an owner, in numbers. */
interface Count {
  readonly endpoints: number;
  readonly slices: number;
  /** How many slices would hold the endpoints. */
  readonly desired: number;
}

const NOTHING: SliceTotals = { added: 0, updated: 0, removed: 0 };

/** Kubernetes' buckets for numbers of endpoints and addresses. */
export const ENDPOINT_BUCKETS = exponentialBuckets(2, 2, 15);

/** `max` is how many endpoints a slice holds. */
export function sliceMeter(metrics: Metrics, prefix: string, max: number): SliceMeter {
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
  gauge('num_endpoint_slices', 'Slices that there are', ({ slices }) => slices);
  gauge('desired_endpoint_slices', 'Slices that there would be if each were full', ({ desired }) => desired);
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
