import { exponentialBuckets, type Metrics } from '@gantry/service';

/** Counts of a zone's nodes. */
export interface ZoneCount {
  readonly zone: string;
  readonly ready: number;
  readonly notReady: number;
}

export interface NodeMeter {
  /** Counts a node that got the taint that evicts its pods. */
  evicted(zone: string): void;
  /** Records the duration of checking, and if necessary writing, one node's health. */
  updated(seconds: number): void;
  /** Records the total duration of checking all nodes once. */
  updatedAll(seconds: number): void;
  /** Sets the function that counts zones at each scrape. */
  count(zones: () => readonly ZoneCount[]): void;
}

export interface RangeMeter {
  /** Records that a Node got its host's range; `tries` ranges in use were tried before. */
  allocated(clusterCidr: string, tries: number): void;
  /** Records that a Node with a range was deleted. */
  released(clusterCidr: string): void;
  /** Records that hosts use `used` of the `max` parts of the cluster range. */
  uses(clusterCidr: string, used: number, max: number): void;
  /** Forgets the usage: another leader assigns ranges now. */
  clear(): void;
}

export function nodeMeter(metrics: Metrics): NodeMeter {
  let zones: () => readonly ZoneCount[] = () => [];
  const gauge = (name: string, help: string, of: (zone: ZoneCount) => number) =>
    metrics.gauge(`node_collector_${name}`, help, ['zone'], ({ set }) => {
      for (const one of zones()) set(of(one), { zone: one.zone });
    });
  gauge('zone_size', 'Nodes of each zone', ({ ready, notReady }) => ready + notReady);
  gauge('unhealthy_nodes_in_zone', 'Nodes of each zone that are not ready', ({ notReady }) => notReady);
  gauge(
    'zone_health',
    'Ready nodes of each zone, in percent',
    ({ ready, notReady }) => (100 * ready) / Math.max(1, ready + notReady),
  );
  const evictions = metrics.counter('node_collector_evictions_total', 'Nodes whose pods were evicted', ['zone']);
  const health = metrics.histogram(
    'node_collector_update_node_health_duration_seconds',
    'Time to check and write the health of one node',
    [],
    exponentialBuckets(0.001, 4, 8),
  );
  const all = metrics.histogram(
    'node_collector_update_all_nodes_health_duration_seconds',
    'Time to check and write the health of all nodes once',
    [],
    exponentialBuckets(0.01, 4, 8),
  );
  return {
    evicted: (zone) => evictions.inc({ zone }),
    updated: (seconds) => health.observe(seconds),
    updatedAll: (seconds) => all.observe(seconds),
    count: (of) => {
      zones = of;
    },
  };
}

export function rangeMeter(metrics: Metrics): RangeMeter {
  const labels = ['clusterCIDR'];
  const name = (end: string) => `node_ipam_controller_${end}`;
  const allocations = metrics.counter(name('cidrset_cidrs_allocations_total'), 'Pod ranges given to Nodes', labels);
  const releases = metrics.counter(name('cidrset_cidrs_releases_total'), 'Released ranges of deleted Nodes', labels);
  const tried = metrics.histogram(
    name('cidrset_allocation_tries_per_request'),
    'Used ranges that were tried before a free one was found',
    labels,
    exponentialBuckets(1, 5, 5),
  );
  let use: { readonly clusterCIDR: string; readonly used: number; readonly max: number } | undefined;
  // The spelling is Kubernetes'.
  metrics.gauge(name('cirdset_max_cidrs'), 'Number of ranges', labels, ({ set }) => {
    if (use !== undefined) set(use.max, { clusterCIDR: use.clusterCIDR });
  });
  metrics.gauge(name('cidrset_usage_cidrs'), 'Fraction of ranges in use', labels, ({ set }) => {
    if (use !== undefined) set(use.used / use.max, { clusterCIDR: use.clusterCIDR });
  });
  return {
    allocated: (clusterCIDR, tries) => {
      allocations.inc({ clusterCIDR });
      tried.observe(tries, { clusterCIDR });
    },
    released: (clusterCIDR) => releases.inc({ clusterCIDR }),
    uses: (clusterCIDR, used, max) => {
      use = { clusterCIDR, used, max };
    },
    clear: () => {
      use = undefined;
    },
  };
}

export interface TaintEvictionMeter {
  /** Records the seconds between the expiry of a pod's toleration and its deletion. */
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
    'Delay between the end of a toleration and the deletion of the pod',
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

/** Why a pod is deleted without a grace period. */
export type ForcedReason = 'terminated' | 'out-of-service' | 'orphaned' | 'unscheduled';

export interface PodGcMeter {
  /** Counts a deletion of a pod without a grace period, or its failure. */
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
