import { exponentialBuckets, type Metrics } from '@gantry/service';

/** The meters that are no controller's folder's own. Names, labels and buckets are Kubernetes'. */
export interface CommonMeters {
  readonly cronJob: CronJobMeter;
  readonly autoscaler: AutoscalerMeter;
  readonly nodes: NodeMeter;
  readonly ranges: RangeMeter;
}

export interface CronJobMeter {
  /** A Job was created so long after its time. */
  jobCreated(skewSeconds: number): void;
}

export interface AutoscalerMeter {
  reconciled(result: {
    readonly action: 'scale_up' | 'scale_down' | 'none';
    readonly error: 'spec' | 'internal' | 'none';
    readonly seconds: number;
  }): void;
  /** What one metric asks for was computed; `type` is that of its source. */
  computed(result: {
    readonly type: string;
    readonly action: 'scale_up' | 'scale_down' | 'none';
    readonly error: 'spec' | 'internal' | 'none';
    readonly seconds: number;
  }): void;
  /** The count that an autoscaler wants; undefined when it is gone. */
  wants(namespace: string, name: string, replicas: number | undefined): void;
  /** Forgets all autoscalers: another leader has them. */
  clear(): void;
}

/** The nodes of a zone, in numbers. */
export interface ZoneCount {
  readonly zone: string;
  readonly ready: number;
  readonly notReady: number;
}

export interface NodeMeter {
  /** A node got the taint that evicts its pods. */
  evicted(zone: string): void;
  /** The health of one node was looked at, and written where it had changed. */
  updated(seconds: number): void;
  /** The health of all nodes was looked at once; the sum of their times. */
  updatedAll(seconds: number): void;
  /** From now on zones are counted by this function, at each scrape. */
  count(zones: () => readonly ZoneCount[]): void;
}

export interface RangeMeter {
  /** A Node got a range, its host's part of the cluster's range; `tries` were in use before it was found. */
  allocated(clusterCidr: string, tries: number): void;
  /** A Node that had a range is gone. */
  released(clusterCidr: string): void;
  /** `used` of the `max` parts of the cluster's range are in use by hosts. */
  uses(clusterCidr: string, used: number, max: number): void;
  /** Forgets the use: another leader gives ranges. */
  clear(): void;
}

export function createCommonMeters(metrics: Metrics): CommonMeters {
  return {
    cronJob: cronJobMeter(metrics),
    autoscaler: autoscalerMeter(metrics),
    nodes: nodeMeter(metrics),
    ranges: rangeMeter(metrics),
  };
}

function cronJobMeter(metrics: Metrics): CronJobMeter {
  const skew = metrics.histogram(
    'cronjob_controller_job_creation_skew_duration_seconds',
    'How long after its time a Job of a CronJob was created',
    [],
    exponentialBuckets(1, 2, 10),
  );
  return { jobCreated: (seconds) => skew.observe(seconds) };
}

function autoscalerMeter(metrics: Metrics): AutoscalerMeter {
  const prefix = 'horizontal_pod_autoscaler_controller';
  const wanted = new Map<string, { readonly namespace: string; readonly name: string; readonly replicas: number }>();
  const labels = ['action', 'error'];
  const total = metrics.counter(`${prefix}_reconciliations_total`, 'Reconciles of autoscalers', labels);
  const seconds = metrics.histogram(
    `${prefix}_reconciliation_duration_seconds`,
    'Time of one reconcile of an autoscaler',
    labels,
    exponentialBuckets(0.001, 2, 15),
  );
  const metricLabels = [...labels, 'metric_type'];
  const computations = metrics.counter(
    `${prefix}_metric_computation_total`,
    'Computations of what a metric asks for',
    metricLabels,
  );
  const computing = metrics.histogram(
    `${prefix}_metric_computation_duration_seconds`,
    'Time in which a metric was read and computed',
    metricLabels,
    exponentialBuckets(0.001, 2, 15),
  );
  metrics.gauge(`${prefix}_num_horizontal_pod_autoscalers`, 'Autoscalers that are followed', [], ({ set }) =>
    set(wanted.size),
  );
  metrics.gauge(`${prefix}_desired_replicas`, 'What autoscalers want', ['namespace', 'hpa_name'], ({ set }) => {
    for (const { namespace, name, replicas } of wanted.values()) set(replicas, { namespace, hpa_name: name });
  });
  return {
    reconciled: ({ action, error, seconds: took }) => {
      total.inc({ action, error });
      seconds.observe(took, { action, error });
    },
    computed: ({ type, action, error, seconds: took }) => {
      const values = { action, error, metric_type: type };
      computations.inc(values);
      computing.observe(took, values);
    },
    wants: (namespace, name, replicas) => {
      if (replicas === undefined) wanted.delete(`${namespace}/${name}`);
      else wanted.set(`${namespace}/${name}`, { namespace, name, replicas });
    },
    clear: () => wanted.clear(),
  };
}

function nodeMeter(metrics: Metrics): NodeMeter {
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
    'Time in which the health of one node was looked at and written',
    [],
    exponentialBuckets(0.001, 4, 8),
  );
  const all = metrics.histogram(
    'node_collector_update_all_nodes_health_duration_seconds',
    'Time in which the health of all nodes was looked at and written once',
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

function rangeMeter(metrics: Metrics): RangeMeter {
  const labels = ['clusterCIDR'];
  const name = (end: string) => `node_ipam_controller_${end}`;
  const allocations = metrics.counter(name('cidrset_cidrs_allocations_total'), 'Ranges given to Nodes', labels);
  const releases = metrics.counter(name('cidrset_cidrs_releases_total'), 'Ranges of Nodes that are gone', labels);
  const tried = metrics.histogram(
    name('cidrset_allocation_tries_per_request'),
    'Ranges in use that were tried before a free one',
    labels,
    exponentialBuckets(1, 5, 5),
  );
  let use: { readonly clusterCIDR: string; readonly used: number; readonly max: number } | undefined;
  // The spelling is Kubernetes'.
  metrics.gauge(name('cirdset_max_cidrs'), 'Ranges that hosts can get', labels, ({ set }) => {
    if (use !== undefined) set(use.max, { clusterCIDR: use.clusterCIDR });
  });
  metrics.gauge(name('cidrset_usage_cidrs'), 'The share of ranges that hosts have', labels, ({ set }) => {
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
